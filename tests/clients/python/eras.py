"""Drives the official Python SDK against a server that serves the conformance component.

    python eras.py MODE http URL
    python eras.py MODE stdio COMMAND ARGUMENT...

MODE is `legacy` or a revision. Prints a word for each thing that worked; exits with an error at the
first that did not.
"""

import sys

import anyio
from mcp import Client, MCPError, StdioServerParameters, types

mode, kind, *target = sys.argv[1:]
asked, reports, told = [], [], []
WATCHED = "test://watched-resource"


async def answer(_context, params):
    asked.append(params.message)
    return types.ElicitResult(
        action="accept", content={"username": "ada", "email": "ada@example.com"}
    )


async def report(progress, _total, _message):
    reports.append(progress)


async def tell(message):
    """What a server of an earlier revision says of its own accord."""
    if isinstance(message, types.ResourceUpdatedNotification):
        told.append(str(message.params.uri))


async def hear_of_a_change(client):
    """Subscribes to a resource, and hears that it changed."""

    async def trigger():
        # Over HTTP a client of an earlier revision may still be opening its stream.
        while True:
            await client.call_tool("test_trigger_resource_change", {})
            await anyio.sleep(0.2)

    async with anyio.create_task_group() as group:
        if mode == "legacy":
            await client.subscribe_resource(WATCHED)
            group.start_soon(trigger)
            while not told:
                await anyio.sleep(0.02)
            await client.unsubscribe_resource(WATCHED)
            assert told[0] == WATCHED, told
        else:
            async with client.listen(resource_subscriptions=[WATCHED]) as changes:
                assert changes.honored.resource_subscriptions == [WATCHED], changes.honored
                group.start_soon(trigger)
                change = await anext(changes)
                assert str(change.uri) == WATCHED, change
        group.cancel_scope.cancel()


async def main():
    server = (
        target[0]
        if kind == "http"
        else StdioServerParameters(command=target[0], args=target[1:])
    )
    async with Client(
        server, mode=mode, elicitation_callback=answer, message_handler=tell
    ) as client:
        assert (client.protocol_version >= "2026") == (mode != "legacy"), client.protocol_version
        print("connect")

        names = [tool.name for tool in (await client.list_tools()).tools]
        assert "greet" in names, names
        # What only runs as a task is not for clients that know none.
        assert mode != "legacy" or "failing_job" not in names, names
        print("list")

        greeting = await client.call_tool("greet", {"name": "Ada"})
        assert greeting.content[0].text == "Hello, Ada!", greeting
        assert (await client.call_tool("test_error_handling", {})).is_error
        try:
            await client.call_tool("nothing", {})
        except MCPError as error:
            assert error.code == -32602, error
        else:
            raise AssertionError("an unknown tool was called")
        print("call")

        prompts = [prompt.name for prompt in (await client.list_prompts()).prompts]
        assert "test_prompt_with_arguments" in prompts, prompts
        arguments = {"arg1": "one", "arg2": "two"}
        prompt = await client.get_prompt("test_prompt_with_arguments", arguments)
        assert "'one'" in prompt.messages[0].content.text, prompt
        reference = types.PromptReference(type="ref/prompt", name="test_prompt_with_arguments")
        completed = await client.complete(reference, {"name": "arg1", "value": "par"})
        assert completed.completion.values == ["paris", "park", "party"], completed
        print("prompts")

        listed = [str(resource.uri) for resource in (await client.list_resources()).resources]
        assert "test://static-text" in listed, listed
        templates = (await client.list_resource_templates()).resource_templates
        assert templates[0].uri_template == "test://template/{id}/data", templates
        read = await client.read_resource("test://template/7/data")
        assert '"id":"7"' in read.contents[0].text, read
        try:
            await client.read_resource("test://nothing")
        except MCPError as error:
            assert error.code in (-32602, -32002), error
        else:
            raise AssertionError("an unknown resource was read")
        await hear_of_a_change(client)
        print("resources")

        await client.call_tool("test_tool_with_progress", {}, progress_callback=report)
        assert reports == [0, 50, 100], reports
        print("progress")

        message = "Who are you?"
        answered = await client.call_tool("test_elicitation", {"message": message})
        text = answered.content[0].text
        assert "action=accept" in text and "ada@example.com" in text, text
        assert asked == [message], asked
        print("question")

        slow = {"seconds": 60, "label": "slow"}
        with anyio.move_on_after(0.2) as scope:
            await client.call_tool("slow_compute", slow)
        assert scope.cancelled_caught
        # The connection is good for more.
        await client.call_tool("greet", {"name": "Bob"})
        print("cancel")


anyio.run(main)
