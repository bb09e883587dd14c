# SPDX-License-Identifier: Apache-2.0
"""The page of `millrace ui` in a browser: every view over a real cluster, over a made-up one with more than a test can run, and a stranger's tab.

MILLRACE_TEST_SHOTS names a directory that gets pictures of the made-up cluster, to look at.
"""

import http.server
import json
import os
import sys
import tempfile
import threading
import unittest

from cluster import LIMIT_SECONDS, Cluster, words
from ui_fake import EVIL, FakeCluster, FakeUi
from ui_page import Ui

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lab", "report"))
import browser as chromium  # pylint: disable=wrong-import-position

# What shows that a view is there.
VIEWS = {"#/": "#words, #pools, #stream, #space, #decisions", "#/nodes": "#nodes tbody tr", "#/files/": "#directory tbody tr", "#/decisions": "#decisions tbody tr", "#/history": "#history tbody tr"}


@unittest.skipIf(chromium.missing(), chromium.missing())
class BrowserTest(unittest.TestCase):
    def setUp(self):
        self.directory = tempfile.TemporaryDirectory()
        self.addCleanup(self.directory.cleanup)
        self.browser = chromium.Browser(self.directory.name, width=1400, hosts="MAP evil.example 127.0.0.1")
        self.addCleanup(self.browser.close)

    def open(self, address):
        self.browser.post("/url", {"url": address})

    def go(self, view):
        """Goes to a view as a click would."""
        self.browser.run("location.hash = arguments[0]", view)

    def wait(self, condition, what):
        """Waits until the expression is true."""
        for _ in range(LIMIT_SECONDS // 40):  # a script of the browser may run for a minute
            try:
                if self.browser.wait(f"""
                    const done = arguments[0], end = performance.now() + 40000;
                    const look = () => {{ let is = false; try {{ is = ({condition}); }} catch {{ }} is || performance.now() > end ? done(Boolean(is)) : setTimeout(look, 20); }};
                    look();"""):
                    return
            except RuntimeError as failure:
                if "script timeout" not in str(failure):  # a page that goes elsewhere takes its scripts along
                    raise
        self.fail(f"{what}\n{self.text()[:3000]}\n{self.browser.log()}")

    def wait_for(self, selectors):
        for selector in selectors.split(", "):
            self.wait(f"document.querySelector({json.dumps(selector)}) !== null", selector)

    def text(self):
        return self.browser.run("return document.body.innerText")

    def assert_clean(self, where):
        self.assertEqual(self.browser.log(), [], where)
        self.assertIsNone(self.browser.run("return window.broken ?? null"), where)
        self.assertLessEqual(self.browser.run("return document.documentElement.scrollWidth - innerWidth"), 0, f"{where}: wider than the window")
        cut = self.browser.run("return [...document.querySelectorAll('.stack')].filter((one) => one.parentElement.scrollWidth > one.parentElement.clientWidth + 1).map((one) => one.parentElement.ariaLabel)")
        self.assertEqual(cut, [], f"{where}: tables whose rows are paragraphs where there is little room are cut")


class RealTest(BrowserTest):
    def setUp(self):
        super().setUp()
        self.cluster = Cluster(workers=2, map_slots=2)
        self.cluster.__enter__()
        self.addCleanup(lambda: self.cluster.__exit__(None, None, None))
        run = self.cluster.run
        run("fs", "mkdir", "/in", "/<b>dir")
        run("fs", "put", "-", "/in/a", input=words(1, 20000))
        run("run", "wordcount", "/in", "-o", "/out", "--reducers", "2", "--name", EVIL, "--pool", EVIL)
        run("run", "wordcount", "/in", "-o", "/late", "--detach", "--name", "late")
        run("job", "wait", "2")

    def test_every_view(self):
        with Ui(self.cluster) as ui:
            self.open(ui.address)
            self.assertNotIn(ui.token, self.browser.run("return location.href"))
            for view, selectors in VIEWS.items():
                self.go(view)
                self.wait_for(selectors)
                self.assert_clean(view)
            self.go("#/history")
            self.wait(f"document.body.innerText.includes({json.dumps(EVIL)})", "names stay text")
            self.go("#/files/")
            self.wait("document.body.innerText.includes('<b>dir')", "names of files")
            self.go("#/files/in")
            self.wait("document.querySelector('#directory').innerText.includes('-rw')", "rights")
            self.assert_clean("files")
            self.go("#/job/1")
            self.wait_for("#time, #durations, .histogram, .stream canvas, .reduce, .facts")
            self.wait("[...document.querySelectorAll('td button.link')].length >= 3", "attempts")
            self.browser.click("td button.link")
            self.wait_for(".logs pre")
            self.browser.click("#counters button")
            self.wait("document.querySelector('#counters tbody tr') !== null", "counters")
            self.assert_clean("job")
            self.assertIn(EVIL, self.text())

    def test_a_journal(self):
        """Every view, without a master, and what a journal does not have is not shown as nothing."""
        self.cluster.run("run", "sleep", "-o", "/live", "--detach", "-D", "input.maps=2", "-D", "sleep.map_time=600s", "--reducers", "0")
        while json.loads(self.cluster.run("job", "status", "3", "--json")[0])["maps"]["running"] < 2:
            pass
        self.cluster.run("job", "priority", "3", "HIGH")  # a line that is later than the launches, so that these have lasted
        path = os.path.join(self.directory.name, "journal")
        with open(path, "wb") as file:
            file.write(self.cluster.run("job", "history")[0])
        self.cluster.kill_master()
        with Ui(self.cluster, "--no-open", "--journal", path) as ui:
            self.open(ui.address)
            for view, selectors in VIEWS.items():
                if view != "#/files/":
                    self.go(view)
                    self.wait_for("#journal, " + selectors)
                    self.assert_clean(view)
            self.assertIn(EVIL, self.text())
            self.go("#/")
            self.wait("document.querySelector('#words').innerText.includes('2 of 6 slots busy; 1 job runs')", "the end of the journal in words")
            self.wait("document.querySelector('#space').innerText.includes('A journal has nothing of the file system')", "no space")
            self.wait("document.querySelector('#jobs').innerText.includes('the journal does not tell')", "no reason why it waits")
            self.wait("document.querySelector('.stream canvas')?.ariaLabel.includes('Task stream: ')", "slots over time")
            self.assertNotIn("Files", self.browser.run("return document.querySelector('nav').innerText"))
            self.assertIsNone(self.browser.run("return document.querySelector('#skew')"))
            self.go("#/files/in")
            self.wait("document.querySelector('#directory .failure').innerText.includes('a journal has nothing of the file system')", "no files")
            self.go("#/job/1")
            self.wait_for("#time, #durations, .histogram, .stream canvas, .reduce, .facts")
            self.wait("document.querySelector('.facts').innerText.includes('not in the journal')", "no output")
            self.browser.click("td button.link")
            self.wait("document.querySelector('.logs .failure').innerText.includes('a journal has nothing of logs')", "no logs")
            self.assertEqual([line for line in self.browser.log() if "404 (Not Found)" not in line], [], "but for what was asked for in vain")
            self.assertIn(EVIL, self.text())
            for width in (400, 1400):
                self.browser.width(width)
                self.assert_clean(f"a job of a journal, at {width}")
            self.go("#/job/3")
            self.wait("document.querySelector('.stream canvas')?.ariaLabel.includes('2 attempts')", "a job that ran at the end")
            self.assert_clean("a live job of a journal")

    def test_a_job_as_a_file(self):
        path = os.path.join(self.directory.name, "job.html")
        self.assertEqual(self.cluster.run("job", "export", "1", "-o", path), (b"", b""))
        self.assertEqual(self.cluster.run("job", "export", "job1")[0][:15], b"<!DOCTYPE html>")
        self.assertIn(b"job99", self.cluster.run("job", "export", "99", status=1)[1])
        self.cluster.run("run", "wordcount", "/in", "-o", "/held", "--detach", "--hold")
        held = os.path.join(self.directory.name, "held.html")
        self.cluster.run("job", "export", "3", "-o", held)
        self.cluster.run("run", "sleep", "-o", "/live", "--detach", "-D", "input.maps=1", "-D", "sleep.map_time=600s", "--reducers", "0")
        live = os.path.join(self.directory.name, "live.html")
        while json.loads(self.cluster.run("job", "status", "4", "--json")[0])["foretold"] is None:
            pass  # the master is asked again, and says it once it has played the jobs forward
        self.cluster.run("job", "export", "4", "-o", live)
        tasks = json.loads(self.cluster.run("job", "tasks", "1", "--json")[0])
        self.cluster.kill_master()
        self.open("file://" + path)
        self.wait_for("#time, #durations, .histogram, .stream canvas, .reduce, .facts, td button.link")
        self.assertIn(EVIL, self.text())
        self.assertEqual(self.browser.run("return [...document.querySelectorAll('#attempts tbody tr')].length"), len(tasks))
        self.browser.run("const kind = document.querySelectorAll('.filter select')[1]; kind.value = 'r'; kind.dispatchEvent(new Event('change'));")
        self.wait(f"document.querySelectorAll('#attempts tbody tr').length === {sum('.r.' in task['attempt'] for task in tasks)}", "the reduces alone")
        self.browser.click("#counters button")
        self.wait("document.querySelector('#counters tbody tr') !== null", "counters")
        self.browser.click("td button.link")
        self.wait("document.querySelector('.logs').innerText.includes('not in this file')", "no logs")
        self.assert_clean("a job as a file")
        self.browser.width(400)
        self.assert_clean("a job as a file, at 400")
        self.browser.width(1400)
        self.open("file://" + held)
        self.wait("document.querySelector('#reason').innerText.includes('held')", "why it waits")
        self.assert_clean("a held job as a file")
        self.open("file://" + live)
        self.wait("document.querySelector('.facts').innerText.includes('Likely ends')", "what is foretold")
        self.assert_clean("a live job as a file")

    def test_what_holds_a_job(self):
        self.cluster.run("run", "sleep", "-o", "/gate", "--detach", "-D", "input.maps=9", "-D", "sleep.map_time=600s", "--reducers", "0")
        self.cluster.run("run", "wordcount", "/in", "-o", "/held", "--detach", "--hold")
        self.cluster.run("run", "wordcount", "/in", "-o", "/after", "--detach", "--after", "3")
        with Ui(self.cluster) as ui:
            self.open(ui.address)
            self.wait("document.querySelector('#jobs').innerText.includes('is held, until')", "held")
            self.wait("document.querySelector('#jobs').innerText.includes('waits for job3 to succeed')", "after")
            self.go("#/job/5")
            self.wait("document.querySelector('#reason').innerText.includes('job3')", "the reason")
            self.wait("document.querySelector('.facts a').innerText === 'job 3'", "a way to the other job")
            self.go("#/job/3")
            self.wait("document.querySelector('.facts').innerText.includes('Likely ends')", "what is foretold")
            self.go("#/")
            self.wait("document.querySelector('#words').innerText.includes('1 job runs, 2 wait (1 held, 1 for other jobs)')", "those that wait for no slots are told apart")
            self.assert_clean("jobs that wait")

    def test_a_job_comes_and_the_master_goes(self):
        with Ui(self.cluster) as ui:
            self.open(ui.address)
            self.wait_for("#words")
            self.cluster.run("job", "list")
            self.cluster.run("run", "wordcount", "/in", "-o", "/more", "--detach", "--name", "newcomer")
            self.go("#/history")
            self.wait("document.body.innerText.includes('newcomer')", "the new job")
            self.go("#/")
            self.cluster.kill_master()
            self.wait_for("#lost")
            self.wait("document.querySelector('main.old') !== null", "greyed")
            self.assertIn("The master is out of reach", self.text())
            self.assertIn("slots busy", self.text(), "what was known stays")
            self.cluster.start_master()
            self.wait("document.querySelector('#lost') === null && document.querySelector('main.old') === null", "it goes on")
        self.wait("document.querySelector('#lost') !== null", "no `millrace ui` any more")
        self.assertIn("does it still run?", self.text())

    def test_by_a_file_and_by_keyboard(self):
        """xdg-open gets a file, from which the browser comes as from another site."""
        with Ui(self.cluster) as ui:
            path = os.path.join(self.directory.name, "open.html")
            with open(path, "w", encoding="utf-8") as f:
                f.write(f'<!DOCTYPE html><meta http-equiv="refresh" content="0; url={ui.address}">')
            self.open("file://" + path)
            self.wait_for("#words")
            self.browser.keys("body", "\ue004")
            self.assertEqual(self.browser.run("return document.activeElement.className"), "skip")
            for _ in range(3):
                self.browser.post("/actions", {"actions": [{"type": "key", "id": "keys", "actions": [{"type": "keyDown", "value": "\ue004"}, {"type": "keyUp", "value": "\ue004"}]}]})
            self.assertEqual(self.browser.run("return document.activeElement.innerText"), "Nodes")
            self.browser.post("/actions", {"actions": [{"type": "key", "id": "keys", "actions": [{"type": "keyDown", "value": "\ue007"}, {"type": "keyUp", "value": "\ue007"}]}]})
            self.wait_for("#nodes tbody tr")

    def test_a_strangers_tab(self):
        """Another page in the same browser, at another port of this machine, so that browsers take it for the same site."""
        tries = """
            const results = [], at = arguments[0], done = arguments[1];
            const ask = async (name, how) => { try { const answer = await fetch(at + "/api/v1/cluster", how); results.push([name, answer.type, await answer.text()]); } catch (e) { results.push([name, "failed", ""]); } };
            await_all();
            async function await_all() {
              await ask("cors", {credentials: "include"});
              await ask("no-cors", {credentials: "include", mode: "no-cors"});
              await ask("post", {method: "POST", mode: "no-cors", credentials: "include", body: "a=b"});
              const script = document.createElement("script");
              script.src = at + "/page.js"; script.type = "text/javascript";
              await new Promise((go) => { script.onload = () => { results.push(["script", "loaded", "yes"]); go(); }; script.onerror = () => { results.push(["script", "failed", ""]); go(); }; document.body.append(script); });
              const frame = document.createElement("iframe");
              frame.src = at + "/";
              await new Promise((go) => { frame.onload = go; document.body.append(frame); setTimeout(go, 3000); });
              let inside = "";
              try { inside = frame.contentDocument?.body?.innerText ?? ""; } catch { }
              results.push(["frame", "", inside]);
              done(results);
            }"""

        stranger_port = self.serve_stranger()
        with Ui(self.cluster) as ui:
            self.open(ui.address)
            self.wait_for("#words")  # the browser has the cookie now
            for stranger in ("127.0.0.1", "localhost", "evil.example"):
                self.open(f"http://{stranger}:{stranger_port}/")
                results = self.browser.wait(tries, f"http://127.0.0.1:{ui.port}")
                self.assertEqual(len(results), 5, results)
                for name, _, got in results:
                    self.assertEqual(got, "", (stranger, name))
            self.open(f"http://127.0.0.1:{ui.port}/?token={ui.token}")
            self.wait_for("#words")  # the user is still in

    def serve_stranger(self):
        """An empty page at another port of this machine. Returns the port."""
        class Page(http.server.BaseHTTPRequestHandler):
            def log_message(self, *_):
                pass

            def do_GET(self):
                self.send_response(200)
                self.send_header("Content-Type", "text/html")
                self.end_headers()
                self.wfile.write(b"<!DOCTYPE html><title>stranger</title><body>")

        server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Page)
        thread = threading.Thread(target=server.serve_forever)
        thread.start()

        def end():
            server.shutdown()
            server.server_close()
            thread.join()
        self.addCleanup(end)
        return server.server_address[1]

    def assert_stranger_sees_nothing(self, where, said=""):
        self.wait("document.readyState === 'complete' && document.title !== 'stranger'", where)
        text = self.browser.run("return document.documentElement.outerHTML")
        self.assertNotIn(self.cluster.id, text, where)
        self.assertNotIn("slots", text, where)
        self.assertIn(said, text, where)

    def test_a_strangers_name_and_forms(self):
        stranger_port = self.serve_stranger()
        with Ui(self.cluster) as ui:
            self.open(ui.address)
            self.wait_for("#words")
            for path in ("/", "/api/v1/cluster", f"/?token={ui.token}"):  # the stranger's name leads to this machine now
                self.open(f"http://evil.example:{ui.port}{path}")
                self.assert_stranger_sees_nothing(f"DNS rebinding, {path}", "Not for you")
            for stranger in ("127.0.0.1", "evil.example"):
                for method, path in (("POST", "/"), ("POST", "/api/v1/jobs/1"), ("GET", "/api/v1/cluster"), ("GET", "/api/v1/files")):
                    self.open(f"http://{stranger}:{stranger_port}/")
                    self.browser.run("""const form = document.createElement("form"); form.method = arguments[0]; form.action = arguments[1];
                        form.innerHTML = '<input name="path" value="/">'; document.body.append(form); form.submit();""", method, f"http://127.0.0.1:{ui.port}{path}")
                    self.assert_stranger_sees_nothing(f"a form of {stranger}, {method} {path}")
            self.open(f"http://127.0.0.1:{ui.port}/")
            self.wait_for("#words")  # the user is still in

    def test_a_stolen_address(self):
        with Ui(self.cluster) as ui:
            self.open(ui.address)
            self.wait_for("#words")
            with tempfile.TemporaryDirectory() as directory:
                thief = chromium.Browser(directory)
                self.browser, user = thief, self.browser
                try:
                    for address, said in ((ui.address, "has been used"), (f"http://127.0.0.1:{ui.port}/", "Open the address"), (f"http://127.0.0.1:{ui.port}/api/v1/cluster", "Open the address")):
                        self.open(address)
                        self.assert_stranger_sees_nothing(address, said)
                finally:
                    thief.close()
                    self.browser = user


class LargeTest(BrowserTest):
    """1,000 jobs, one of them of 100,000 tasks, on 100 nodes."""

    def test_views_times_and_widths(self):
        shots = os.environ.get("MILLRACE_TEST_SHOTS")
        fake = FakeCluster()
        with FakeUi(fake) as ui:
            self.open(ui.address)
            self.wait("document.documentElement.dataset.drawn", "drawn")
            big = f"#/job/{fake.jobs[-300]['job']}"
            drawn, opened = [], []
            for _ in range(4):  # the machine may have other work; the best of these is that of the page
                self.open(ui.address)
                self.wait("document.documentElement.dataset.drawn", "drawn")
                drawn.append(int(self.browser.run("return document.documentElement.dataset.drawn")))
                self.open("about:blank")
                self.open(ui.address + big)
                opened.append(round(self.browser.wait("""
                    const done = arguments[0], look = () => document.querySelector("#time .whole") ? done(performance.now()) : requestAnimationFrame(look);
                    look();""")))
                self.wait_for(".stream canvas")
                self.open("about:blank")
            print(f"first view after {drawn} ms, the job of 100,000 tasks after {opened} ms", file=sys.stderr)
            self.assertLess(min(drawn), 1000)
            self.assertLess(min(opened), 3000)
            self.open(ui.address)
            for width in (1400, 400):
                self.browser.width(width)
                for scheme in ("light", "dark"):
                    self.browser.media(prefers_color_scheme=scheme)
                    for view, selectors in {**VIEWS, "#/files/": "#directory tbody tr", big: "#time, .stream canvas, #attempts, td button.link"}.items():
                        self.go(view)
                        self.wait_for(selectors)
                        self.wait("document.querySelector('#stream') === null || document.querySelector('.stream canvas') !== null", "the stream")
                        self.browser.painted()
                        self.assert_clean(f"{view} at {width}, {scheme}")
                        if shots:
                            self.browser.picture(os.path.join(shots, f"{view.strip('#/').split('/')[0] or 'now'}-{width}-{scheme}.png"), height=2400)
            self.assertIn("100 nodes", self.text())
            fake.lost = True
            self.wait_for("#lost")
            fake.lost = False
            self.wait("document.querySelector('#lost') === null", "it goes on")

    def test_nothing_grows(self):
        """An hour's events at once: the page keeps what it shows, and no more."""
        with FakeUi(FakeCluster(jobs=350, tasks=2000, fresh=2000)) as ui:
            self.open(ui.address)
            self.wait_for("#words, .stream canvas")

            # What is under way when the sizes are taken is no growth: how much that is depends on what else the machine does.
            self.browser.run("window.underWay = 0; const fetched = window.fetch; window.fetch = async (...how) => { window.underWay++; try { return await fetched(...how); } finally { window.underWay--; } };")
            many = "const done = arguments[0]; import('/source.js').then(async ({link, tell}) => { for (let i = 0; i < 600; i++) { link.ticks++; tell(); if (i % 50 === 0) await new Promise((go) => setTimeout(go, 20)); } done(true); });"

            def sizes():
                self.browser.wait(many)
                self.wait("window.underWay === 0", "nothing is under way")
                self.browser.painted()
                self.browser.protocol("HeapProfiler.collectGarbage")
                return (self.browser.run("return document.getElementsByTagName('*').length"), self.browser.protocol("Runtime.getHeapUsage")["usedSize"])

            def smallest():
                several = [sizes() for _ in range(3)]
                return (min(one[0] for one in several), min(one[1] for one in several))

            elements, heap = smallest()
            more_elements, more_heap = smallest()
            self.assertLess(abs(more_elements - elements), 50)
            self.assertLess(more_heap, heap * 1.3 + (1 << 20))


if __name__ == "__main__":
    unittest.main()
