"""What the packages hold and what their programs understand, asked of the build and of the programs
themselves, so that a container file or a manifest can be compared with it."""

import functools
import os
import pathlib
import re
import subprocess

ROOT = pathlib.Path(__file__).resolve().parents[2]


class Facts:
    """Installs the packages' components below `tree`, as cpack does before it packs them."""

    def __init__(self, build, tree):
        self.build, self.tree = pathlib.Path(build), pathlib.Path(tree)
        settings = dict(re.findall(r'^set\((CPACK_\w+) "(.*?)"\)$',
                                   (self.build / "CPackConfig.cmake").read_text(), re.M))
        version = settings["CPACK_PACKAGE_VERSION"]
        self.package_of_program = {}
        self.files = []  # The packages, by their paths as `./dev package` makes them.
        into = re.search(r"make_packages release (\S+)", (ROOT / "tools/dev/package.sh").read_text())[1]
        for component in ("muster", "musterd"):
            package = settings[f"CPACK_DEBIAN_{component.upper()}_PACKAGE_NAME"]
            self.files.append(f"{into}/{package}_{version}_amd64.deb")
            self.install(component)
            for program in (self.tree / "usr/bin").iterdir():
                self.package_of_program.setdefault(f"/usr/bin/{program.name}", package)

    def install(self, component):
        subprocess.run(["cmake", "--install", self.build, "--component", component, "--prefix", "/usr"],
                       env={**os.environ, "DESTDIR": str(self.tree)}, check=True,
                       stdout=subprocess.DEVNULL)

    def has(self, path):
        return (self.tree / path.lstrip("/")).exists()

    @functools.lru_cache(maxsize=None)
    def help(self, *words):
        program = self.tree / "usr/bin" / words[0]
        return subprocess.run([program, *words[1:], "--help"], check=True, capture_output=True,
                              text=True).stdout

    def options(self, *words):
        """--name of each option of a program, or of one of its commands."""
        return set(re.findall(r"(?m)^  (?:-\w,)?(--[a-z0-9-]+)", self.help(*words)))

    def variables(self, *words):
        return {"MUSTER_" + option[2:].replace("-", "_").upper() for option in self.options(*words)}

    @functools.cached_property
    def ports(self):
        """musterd's own: gRPC, the engine, HTTP."""
        text = self.help("musterd")
        port = {name: int(re.search(rf"--{name} .*\(default: 127\.0\.0\.1:(\d+)\)", text)[1])
                for name in ("listen", "http-listen")}
        engine = re.search(r"--peers s1=h1:(\d+)", text)
        return {port["listen"], int(engine[1]), port["http-listen"]}

    @functools.cached_property
    def paths(self):
        """What musterd answers over HTTP to anyone who watches it."""
        source = (ROOT / "src/server/web/api.cc").read_text()
        return set(re.findall(r'path == "(/[a-z]+)"', source))

    @functools.cached_property
    def users(self):
        """Who a container may run as, and the package that makes them; None: in every Debian."""
        script = (ROOT / "packaging/debian/musterd/postinst").read_text()
        made = re.search(r"adduser .* (\w+)$", script, re.M)[1]
        return {"nobody": None, made: "musterd"}

    @functools.cached_property
    def state_directory(self):
        unit = (self.tree / "usr/lib/systemd/system/musterd.service").read_text()
        return "/var/lib/" + re.search(r"^StateDirectory=(\S+)$", unit, re.M)[1]
