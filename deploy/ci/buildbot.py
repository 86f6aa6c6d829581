"""A builder for Buildbot's master.cfg: from buildbot_eideticker import factory.

The worker has the package eideticker and reaches the rig. The master's secrets have its address, eideticker_rig, and a token of the role run,
eideticker_token. The fingerprint is that of the rig's certificate, where the rig has made that itself.
"""

from buildbot.plugins import steps, util
from buildbot.process.results import FAILURE, SUCCESS, WARNINGS


def factory(test="framerate", base="release", fingerprint=""):
    """Returns a factory that runs a test on the rig and compares it. A regression is red, and what is inconclusive orange."""
    f = util.BuildFactory()
    f.addStep(steps.RemoveDirectory(dir="build/eideticker"))
    f.addStep(
        steps.ShellCommand(
            name="rig-compare",
            command=["/usr/share/eideticker/ci/rig-compare", test],
            env={
                "RIG": util.Secret("eideticker_rig"),
                "EIDETICKER_TOKEN": util.Secret("eideticker_token"),
                "EIDETICKER_FINGERPRINT": fingerprint,
                "BASE": base,
                "BRANCH": util.Interpolate("%(prop:branch:-)s"),
                "REVISION": util.Interpolate("%(prop:got_revision:-%(prop:revision:-)s)s"),
                "OUT": "eideticker",
            },
            logEnviron=False,
            decodeRC={0: SUCCESS, 3: FAILURE, 4: WARNINGS},
            warnOnWarnings=True,
            logfiles={"comparison": {"filename": "eideticker/comparison.txt", "follow": False}},
            lazylogfiles=True,
            timeout=3600,
            haltOnFailure=False,
        )
    )
    f.addStep(
        steps.DirectoryUpload(
            name="publish the comparison",
            workersrc="eideticker/comparison",
            masterdest=util.Interpolate("public_html/eideticker/%(prop:buildername)s/%(prop:buildnumber)s"),
            alwaysRun=True,
            flunkOnFailure=False,
        )
    )
    return f
