"""Plots of score files, by Vega-Altair: specifications here, drawing by vl-convert."""
