# SPDX-License-Identifier: Apache-2.0
"""A headless Chromium that tests look at pages with, driven through chromedriver (W3C WebDriver over HTTP). Standard library alone."""

import base64
import json
import os
import re
import shutil
import subprocess
import urllib.error
import urllib.request

ELEMENT = "element-6066-11e4-a52e-4f735466cecf"  # the key by which WebDriver names elements (W3C WebDriver, section 12)


def missing():
    """Why there is no browser here; None if there is one."""
    for program, package in (("chromium", "chromium"), ("chromedriver", "chromium-driver")):
        if shutil.which(program) is None:
            return f"there is no {program} here (apt-get install {package})"
    return None


class Browser:
    def __init__(self, directory, width=1280, height=900, hosts=""):
        """`directory` takes what the browser writes. `hosts` says where names lead, as "MAP one.example 127.0.0.1"."""
        environment = {**os.environ, "HOME": directory, "TMPDIR": directory}
        self.driver = subprocess.Popen([shutil.which("chromedriver"), "--port=0", "--log-level=SEVERE"], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
                                       text=True, env=environment)
        self.session = None
        try:
            self.at = f"http://127.0.0.1:{self.port()}"
            options = {"binary": shutil.which("chromium"), "args": ["--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage",
                       "--disable-background-networking", "--no-first-run", "--hide-scrollbars", "--force-device-scale-factor=1", f"--window-size={width},{height}",
                       f"--host-resolver-rules={hosts}", f"--user-data-dir={directory}/profile"]}
            answer = self.call("POST", "/session", {"capabilities": {"alwaysMatch": {"browserName": "chrome", "goog:chromeOptions": options,
                                                                                      "goog:loggingPrefs": {"browser": "ALL"}, "timeouts": {"script": 60000}}}})
            self.session = answer["sessionId"]
        except BaseException:
            self.close()
            raise

    def port(self):
        for line in self.driver.stdout:
            found = re.search(r"started successfully on port (\d+)", line)
            if found:
                return int(found[1])
        raise RuntimeError("chromedriver ended before it said on which port it listens")

    def call(self, method, path, body=None):
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(self.at + path, data, {"Content-Type": "application/json"}, method=method)
        opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
        try:
            with opener.open(request, timeout=120) as answer:
                return json.load(answer)["value"]
        except urllib.error.HTTPError as error:
            raise RuntimeError(json.load(error)["value"]["message"]) from None

    def post(self, path, body):
        return self.call("POST", f"/session/{self.session}{path}", body)

    def close(self):
        if self.session is not None:
            self.call("DELETE", f"/session/{self.session}")
        self.driver.terminate()
        self.driver.wait()
        self.driver.stdout.close()

    def open(self, path):
        """Opens a file and waits until the page has said that it is drawn. Returns how long that took, in ms."""
        self.post("/url", {"url": "file://" + path})
        return float(self.wait("""
            const root = document.documentElement, done = arguments[arguments.length - 1];
            const look = () => { if (root.dataset.drawn) done(root.dataset.drawn); };
            new MutationObserver(look).observe(root, {attributes: true});
            look();"""))

    def run(self, script, *arguments):
        return self.post("/execute/sync", {"script": script, "args": list(arguments)})

    def wait(self, script, *arguments):
        """Runs a script that calls its last argument when it has its result."""
        return self.post("/execute/async", {"script": script, "args": list(arguments)})

    def painted(self):
        """Waits until what was asked of the page is on the screen."""
        self.wait("const done = arguments[0]; requestAnimationFrame(() => requestAnimationFrame(() => done(true)));")

    def protocol(self, command, **parameters):
        return self.post("/goog/cdp/execute", {"cmd": command, "params": parameters})

    def log(self):
        """What has come to the console since the last call."""
        return [entry["message"] for entry in self.post("/se/log", {"type": "browser"})]

    def find(self, selector):
        return self.post("/element", {"using": "css selector", "value": selector})

    def click(self, selector):
        self.run("arguments[0].scrollIntoView({block: 'center', behavior: 'instant'})", self.find(selector))
        self.post(f"/element/{self.find(selector)[ELEMENT]}/click", {})
        self.painted()

    def keys(self, selector, keys):
        self.post(f"/element/{self.find(selector)[ELEMENT]}/value", {"text": keys})
        self.painted()

    def pointer(self, selector, *steps):
        """Moves the pointer. steps: (x, y) from the upper left corner of the element, "down" or "up"."""
        left, top = self.run("arguments[0].scrollIntoView({block: 'center', behavior: 'instant'}); const box = arguments[0].getBoundingClientRect(); return [box.left, box.top];",
                             self.find(selector))
        actions = []
        for step in steps:
            if step in ("down", "up"):
                actions.append({"type": "pointerDown" if step == "down" else "pointerUp", "button": 0})
            else:
                actions.append({"type": "pointerMove", "duration": 0, "x": round(left + step[0]), "y": round(top + step[1])})
        self.post("/actions", {"actions": [{"type": "pointer", "id": "mouse", "parameters": {"pointerType": "mouse"}, "actions": actions}]})
        self.painted()

    def media(self, kind="", **features):
        self.protocol("Emulation.setEmulatedMedia", media=kind, features=[{"name": name.replace("_", "-"), "value": value} for name, value in features.items()])
        self.painted()

    def width(self, width, height=900):
        self.protocol("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=False)
        self.painted()

    def pdf(self):
        return base64.b64decode(self.protocol("Page.printToPDF", printBackground=True, preferCSSPageSize=True)["data"])

    def picture(self, path, top=0, height=None):
        """A picture of the page, from `top` on, to look at."""
        size = self.protocol("Page.getLayoutMetrics")["cssContentSize"]
        clip = {"x": 0, "y": top, "width": size["width"], "height": min(height or size["height"], size["height"] - top), "scale": 1}
        with open(path, "wb") as f:
            f.write(base64.b64decode(self.protocol("Page.captureScreenshot", captureBeyondViewport=True, clip=clip)["data"]))
