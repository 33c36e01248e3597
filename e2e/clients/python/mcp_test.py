"""The official client of the Model Context Protocol against `signin-kit mcp`."""

import functools
import json
import os
import socket
import unittest
from pathlib import Path

from mcp import Client, MCPError, StdioServerParameters
from mcp.client.stdio import stdio_client

from stack import StackCase

ROOT = Path(__file__).parents[3]
PROGRAM = Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target")) / "debug/signin-kit"
ODD = ROOT / "e2e/examiner/tests/odd/app.py"
PYTHON = ROOT / "target/consumers/python/bin/python"


def server(control):
    return StdioServerParameters(command=str(PROGRAM), args=["mcp", "--control", control])


def connected(test):
    """A test with a client, which has to end in the task that it began in."""

    @functools.wraps(test)
    async def connect(self):
        async with Client(stdio_client(server(self.control))) as self.client:
            await test(self)

    return connect


class Mcp(StackCase, unittest.IsolatedAsyncioTestCase):
    async def ask(self, name, **arguments):
        """Calls a tool: the text of its answer, which is no error."""
        answer = await self.client.call_tool(name, arguments)
        self.assertFalse(answer.is_error, answer.content)
        return answer.content[0].text

    async def refused(self, name, **arguments):
        """Calls a tool: the text of its error."""
        answer = await self.client.call_tool(name, arguments)
        self.assertTrue(answer.is_error, answer.content)
        return answer.content[0].text

    @connected
    async def test_both_lifecycles_are_spoken(self):
        self.assertEqual(self.client.protocol_version, "2026-07-28")
        self.assertIn(f"{self.control}/llms.txt", self.client.instructions)
        async with Client(stdio_client(server(self.control)), mode="legacy") as older:
            self.assertEqual(older.protocol_version, "2025-11-25")
            answer = await older.call_tool("get_stack", {})
            self.assertEqual(json.loads(answer.content[0].text)["broker"], self.broker)

    @connected
    async def test_each_tool_says_what_it_takes(self):
        tools = {tool.name: tool for tool in (await self.client.list_tools()).tools}
        self.assertLessEqual({"examine", "conformance", "get_events", "post_reset"}, tools.keys())
        self.assertNotIn("get_events_stream", tools)
        for name, tool in tools.items():
            self.assertRegex(name, "^[a-z_]{1,64}$")
            self.assertTrue(tool.description, name)
            hints = tool.annotations
            self.assertEqual(hints.read_only_hint, name.startswith("get_"), name)
            self.assertEqual(hints.destructive_hint, name.startswith("delete_") or name == "post_reset", name)
        schema = tools["post_upstreams_provider_next"].input_schema
        self.assertEqual(schema["required"], ["provider"])
        self.assertEqual(list(schema["properties"]), ["provider", "misbehave"])

    @connected
    async def test_the_calls_do_what_they_do_over_http(self):
        clock = json.loads(await self.ask("post_clock_advance", seconds=600))
        self.assertGreaterEqual(clock["advanced_seconds"], 600)
        person = {"person": {"key": "ada"}}
        planned = json.loads(await self.ask("post_upstreams_provider_next", provider="google", **person))
        taken_back = await self.ask("delete_upstreams_provider_next_id", provider="google", id=planned["id"])
        self.assertEqual(taken_back, "done")
        self.assertEqual(await self.ask("get_events", after=0), json.dumps(self.call("GET", "/api/events")))

    @connected
    async def test_an_error_names_what_is_wrong(self):
        wrong = [
            ("post_clock_advance", {"seconds": "ten"}, "seconds: invalid type"),
            ("post_clock_advance", {"seconds": 1, "minutes": 2}, "unknown field `minutes`"),
            ("post_clock_advance", {}, "missing field `seconds`"),
            ("get_clock", {"zone": "UTC"}, "zone:"),
            ("get_logins_login", {}, "login:"),
            ("get_logins_login", {"login": "../stack"}, "login:"),
            ("post_upstreams_provider_next", {"provider": "gitlab"}, "gitlab"),
            ("examine", {}, "which app?"),
            ("examine", {"target": "http://signin.example/"}, "signin.example is not on this machine"),
            ("examine", {"target": "http://localhost:1/", "only": [1]}, "only:"),
            ("examine", {"target": "http://localhost:1/", "colour": "red"}, "--colour"),
            ("examine", {"target": "http://localhost:1/", "only": ["pkc"]}, "no check pkc"),
            ("conformance", {"base_url": "here"}, "expected an address"),
            ("conformance", {"base_url": self.broker, "control": "http://192.0.2.1"}, "--control"),
        ]
        for name, arguments, message in wrong:
            with self.subTest(name, **arguments):
                self.assertIn(message, await self.refused(name, **arguments))
        with self.assertRaisesRegex(MCPError, "there is no tool get_weather"):
            await self.client.call_tool("get_weather", {})

    async def test_without_a_stack_every_error_says_how_to_start_one(self):
        async with Client(stdio_client(server("http://127.0.0.1:9"))) as alone:
            for name, arguments in [
                ("get_stack", {}),
                ("post_clock_advance", {"seconds": 1}),
                ("examine", {"target": "http://localhost:1/"}),
                ("conformance", {"base_url": self.broker, "control": "http://127.0.0.1:9"}),
            ]:
                answer = await alone.call_tool(name, arguments)
                self.assertTrue(answer.is_error)
                self.assertIn("`signin-kit up`", answer.content[0].text)

    @connected
    async def test_an_app_is_graded(self):
        steps = []

        async def progress(_step, _total, message):
            steps.append(message)

        with socket.create_server(("localhost", 0)) as free:
            port = free.getsockname()[1]
        arguments = {
            "target": f"http://localhost:{port}/",
            "command": [str(PYTHON), str(ODD), "plain"],
            "only": ["callback-replay", "start-needs-action"],
        }
        answer = await self.client.call_tool("examine", arguments, progress_callback=progress)
        self.assertFalse(answer.is_error, answer.content)
        self.assertEqual(answer.structured_content["tried"], 2)
        [finding] = answer.structured_content["findings"]
        self.assertEqual((finding["id"], finding["verdict"]), ("start-needs-action", "FAIL"))
        for says in (finding["actual"], finding["consequence"], finding["fix"]["change"]):
            self.assertIn(says, answer.content[0].text)
        self.assertIn("FAIL start-needs-action", steps)

    @connected
    async def test_a_broker_is_tested(self):
        answer = await self.client.call_tool("conformance", {"base_url": self.broker, "control": self.control})
        self.assertFalse(answer.is_error, answer.content)
        self.assertEqual(answer.structured_content["counts"]["FAIL"], 0)


if __name__ == "__main__":
    unittest.main()
