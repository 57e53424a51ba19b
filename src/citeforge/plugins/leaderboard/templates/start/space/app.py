"""Space that checks and scores answers, and takes submissions to hidden boards.

The rules are those of `leaderboard.yaml`, in this folder or the one above it.
"""

import os
import sys

os.environ["GRADIO_ANALYTICS_ENABLED"] = "False"  # before gradio is imported
os.environ["HF_HUB_DISABLE_TELEMETRY"] = "1"

from collections.abc import Iterator
from pathlib import Path

import gradio as gr

from citeforge.plugins.leaderboard.space import Desk
from citeforge.plugins.leaderboard.submit import ENDINGS
from citeforge.schemas.errors import CiteforgeError

HERE = Path(__file__).resolve().parent
HAS_SIGN_IN = os.environ.get("SYSTEM") == "spaces" and "OAUTH_CLIENT_ID" in os.environ
FOLDER = HERE if (HERE / "leaderboard.yaml").exists() else HERE.parent
try:
    DESK = Desk(FOLDER, seconds=120, gigabytes=4)
except CiteforgeError as error:
    sys.exit(f"error: {error}")
THEME = gr.themes.Base(font=["system-ui", "sans-serif"], font_mono=["ui-monospace", "monospace"])


def score(upload: str | None, board: str) -> Iterator[tuple[str, str, gr.File]]:
    """Check and score a file."""
    with DESK.score(upload, board) as reply:
        yield reply.html, reply.report, gr.File(list(reply.files), visible=bool(reply.files))


def submit(
    upload: str | None, board: str, profile: gr.OAuthProfile | None
) -> tuple[str, str, gr.File]:
    """Submit a file to the owner's queue, as the account that is signed in."""
    account = profile.username if HAS_SIGN_IN and profile is not None else None
    return DESK.submit(upload, board, account).html, "", gr.File(visible=False)


with gr.Blocks(title=DESK.title, delete_cache=(600, 3000)) as demo:
    gr.Markdown(f"# {DESK.title}")
    board = gr.Dropdown(
        DESK.boards, value=DESK.boards[0], label="Board", visible=len(DESK.boards) > 1
    )
    kinds = f"{', '.join(ENDINGS)}; at most {DESK.megabytes:g} MB"
    upload = gr.File(label=f"Answers ({kinds})", type="filepath")
    with gr.Row():
        check_button = gr.Button(DESK.action, variant="primary")
        if DESK.takes_submissions and HAS_SIGN_IN:
            submit_button = gr.Button("Submit")
            gr.LoginButton()
    findings = gr.HTML()
    report = gr.HTML()
    files = gr.File(label="Report and scores", file_count="multiple", visible=False)
    gr.HTML(DESK.rules(HAS_SIGN_IN))
    shown = [findings, report, files]
    check_button.click(score, [upload, board], shown, api_visibility="private")
    if DESK.takes_submissions and HAS_SIGN_IN:
        submit_button.click(submit, [upload, board], shown, api_visibility="private")

if __name__ == "__main__":
    # Gradio counts in units of 1,024, so that it names the same number; the desk is stricter.
    demo.queue(max_size=20, default_concurrency_limit=2).launch(
        theme=THEME, css_paths=HERE / "space.css", footer_links=[], ssr_mode=False, share=False,
        max_file_size=round(DESK.megabytes * 2**20), run_history=False, enable_monitoring=False,
        show_error=False, pwa=False,
    )  # fmt: skip
