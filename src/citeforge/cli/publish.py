"""``citeforge publish DIR``, and the publishing commands of plugins."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from citeforge.cli.command import Root, path_argument, path_option

if TYPE_CHECKING:
    from citeforge.publishing.hub_changes import PublishPlan

PACKAGE = "DIR"
"""Name of the command that publishes a package, which users give as the folder."""


class Publications(click.Group):
    """Group whose default command publishes a package; other commands are plugins'."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Parse arguments; if they name no command, they are those of publishing a package."""
        other = args and (args[0] in ctx.help_option_names or self.get_command(ctx, args[0]))
        if args and not other:
            args = ["--", PACKAGE, *args]
        return super().parse_args(ctx, args)

    def list_commands(self, ctx: click.Context) -> list[str]:
        """List the publishing commands by name: that of packages, then those of plugins."""
        root = ctx.find_root().command
        names = (name.split() for name in (root.catalogue.all() if isinstance(root, Root) else ()))
        return [PACKAGE, *(name[1] for name in names if name[0] == "publish" and name[1:])]

    def get_command(self, ctx: click.Context, name: str) -> click.Command | None:
        """Get the command that publishes packages, or a plugin's publishing command, by name."""
        root = ctx.find_root().command
        others = root.get_command(ctx, f"publish {name}") if isinstance(root, Root) else None
        return super().get_command(ctx, name) or others

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the help: options of publishing a package, then the other publishing commands."""
        publish_package.format_options(ctx, formatter)
        self.format_commands(ctx, formatter)


@click.group(
    cls=Publications,
    options_metavar="",
    subcommand_metavar=f"{PACKAGE} [OPTIONS] | results SCORES… [OPTIONS]",
)
def publish() -> None:
    """Publish a package to the Hugging Face Hub, or a model's scores.

    Verifies, creates the repository, uploads, commits once, tags the version, downloads it again
    and compares every hash. After a lost connection or a kill, run the same command again. Token
    and endpoint: HF_TOKEN, HF_ENDPOINT.
    """


@publish.command(PACKAGE)
@path_argument("folder", metavar="")
@click.option("--repo-id", required=True, metavar="ORG/NAME", help="Dataset repository.")
@click.option("--private", is_flag=True, help="Create a private repository.")
@click.option("--revision", default="main", show_default=True, help="Branch to publish to.")
@click.option("--hide-gold", is_flag=True, help="Keep labels and gold in ORG/NAME-gold, private.")
@click.option(
    "--metadata",
    multiple=True,
    metavar="FIELD",
    help="With --hide-gold: keep this field of the metadata of queries and passages public; "
    "repeatable (default: none).",
)
@click.option("--sign", is_flag=True, help="Sign it by Sigstore, as who you are in a browser.")
@path_option("--sign-key", help="Sign it with this private key (PEM, elliptic curve).")
@click.option("--dry-run", is_flag=True, help="Say what would change; change nothing.")
def publish_package(folder: Path, repo_id: str, **options: Any) -> None:
    """Publish a package to the Hugging Face Hub.

    Verifies, creates the repository, uploads, commits once, tags the version, downloads it again
    and compares every hash. After a lost connection or a kill, run the same command again. Token
    and endpoint: HF_TOKEN, HF_ENDPOINT.
    """
    from citeforge.library.publishing import publish
    from citeforge.publishing.hub_changes import PublishPlan

    done = publish(folder, repo_id, **options)
    for line in done.notes:
        click.echo(f"note: {line}", err=True)
    if isinstance(done.package, PublishPlan):
        _show_plan(repo_id, done.package)
    else:
        name = f"{done.package.repo_id}@{done.package.tag}"
        click.echo(f"{name}: {done.package.n_files} files, commit {done.package.commit[:12]}")
        click.echo(f"read back and compared; score with --benchmark hub:{name}")
    if (gold := done.gold) is None:
        return
    if isinstance(gold, PublishPlan):
        _show_plan(f"{gold.repo_id} (private)", gold)
        return
    click.echo(
        f"{gold.repo_id} (private): commit {gold.commit[:12]}; score with --gold hub:{gold.repo_id}"
    )


def _show_plan(repository: str, plan: "PublishPlan") -> None:
    """Print what publishing would change in a repository."""
    words = {
        True: "exists",
        False: "would be created, unless it exists and this token may not see it",
        None: "cannot be read because the Hub does not answer; if it is empty:",
    }
    click.echo(f"{repository} {words[plan.exists]}")
    for change in plan.changes:
        click.echo(f"{change.state:<8} {change.size:>12,} B  {change.path}")
    moving = plan.uploads_and_deletions()
    size = sum(c.size for c in moving if c.state != "removed")
    click.echo(f"{len(moving)} of {len(plan.changes)} files would change, {size:,} B to send")
