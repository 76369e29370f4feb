"""An MCP server over a library: calls in, citable results out; what fails says what to do."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from pathlib import Path
from threading import Event
from typing import TYPE_CHECKING, Any

import anyio
import anyio.to_thread
import mcp_types as types
from mcp.server.lowlevel import Server
from mcp.server.stdio import stdio_server
from mcp.shared.exceptions import MCPError
from pydantic import ValidationError

from pincite import __version__
from pincite.errors import PinciteError, UsageError
from pincite.serve.mcp import shapes
from pincite.serve.mcp.advice import INSTRUCTIONS, TOOLS
from pincite.serve.mcp.tools import Call, Tool, tools
from pincite.stop import Stopped, stoppable

if TYPE_CHECKING:
    from pincite.library import Library

_RUNNING = 4  # calls at a time; others wait


@dataclass(frozen=True, slots=True)
class Caller:
    """Who makes a call, and what he is given."""

    call: Call
    offered: Mapping[str, Tool]
    place: Callable[[Tool], AbstractAsyncContextManager[object]]  # held while a tool works
    gone: Callable[[], bool] = lambda: False  # whether he may not, or cannot, have the result any more
    shown: Callable[[shapes.Arguments, dict[str, Any]], None] = lambda *_: None  # told what is about to be shown


def build_server(caller: Callable[[Any], Caller]) -> Server[Any]:
    """Build a server.

    Args:
        caller: tells from the context of a request who makes it.

    Returns:
        The server, for any transport.
    """

    async def list_tools(context: Any, _: types.PaginatedRequestParams | None) -> types.ListToolsResult:
        return types.ListToolsResult(tools=[_described(tool) for tool in caller(context).offered.values()])

    async def call_tool(context: Any, params: types.CallToolRequestParams) -> types.CallToolResult:
        who = caller(context)
        tool = who.offered.get(params.name)
        if tool is None:
            raise MCPError(types.INVALID_PARAMS, f"There is no tool {params.name!r}.")
        try:
            arguments = tool.takes.model_validate(params.arguments or {})
            async with who.place(tool):
                text, result = await _in_thread(tool, who, arguments)
        except ValidationError as error:
            return _failed(f"Wrong arguments for {tool.name}: {_problems(error)}.", "Call it as its schema says.")
        except PinciteError as error:
            return _failed(str(error), error.fix)
        except Exception as error:  # a mistake of ours; what it was stays here
            logging.getLogger("pincite.serve").exception("The tool %s failed.", tool.name)
            raise MCPError(types.INTERNAL_ERROR, "The server made a mistake; its log says which.") from error
        return types.CallToolResult(content=[types.TextContent(type="text", text=text)], structured_content=result)

    return Server(
        "pincite",
        title="Pincite",
        version=__version__,
        instructions=INSTRUCTIONS,
        on_list_tools=list_tools,
        on_call_tool=call_tool,
    )


async def _in_thread(tool: Tool, who: Caller, arguments: shapes.Arguments) -> tuple[str, dict[str, Any]]:
    """Run a tool in a thread; it stops soon when the call is cancelled, or the caller is gone."""
    cancelled = Event()

    def work() -> tuple[str, dict[str, Any]]:
        try:
            with stoppable(lambda: cancelled.is_set() or who.gone()):
                text, result = tool(who.call, arguments)
                who.shown(arguments, result)
                return text, result
        except Stopped:
            fix = "Your key does not count any more, or the server ends."
            raise UsageError("The call was stopped.", fix=fix) from None

    try:
        return await anyio.to_thread.run_sync(work, abandon_on_cancel=True)
    finally:
        cancelled.set()


def _described(tool: Tool) -> types.Tool:
    """Describe a tool."""
    title, description = TOOLS[tool.name]
    return types.Tool(
        name=tool.name,
        title=title,
        description=" ".join(description.split()),
        input_schema=shapes.schema(tool.takes),
        output_schema=shapes.schema(tool.gives),
        annotations=types.ToolAnnotations(
            read_only_hint=not tool.writes, destructive_hint=False, idempotent_hint=True, open_world_hint=False
        ),
    )


def _failed(message: str, fix: str) -> types.CallToolResult:
    """Shape a failure that the agent can do something about."""
    text = f"{message}\nWhat to do: {fix}" if fix else message
    return types.CallToolResult(content=[types.TextContent(type="text", text=text)], is_error=True)


def _problems(error: ValidationError) -> str:
    """Say which arguments are wrong, and how."""
    return "; ".join(f"{'.'.join(map(str, e['loc'])) or 'arguments'}: {e['msg']}" for e in error.errors()[:5])


def serve_stdio(library: Library, *, read_only: bool = False, roots: Sequence[Path] | None = None) -> None:
    """Serve the person at the machine on standard input and output, until the input ends.

    Args:
        library: his own.
        read_only: leave out what writes.
        roots: of what may be added; None: whatever the process may read.
    """
    call, offered = Call(library, roots), tools(read_only=read_only)

    async def serve() -> None:
        places = anyio.Semaphore(_RUNNING)
        server = build_server(lambda _: Caller(call, offered, lambda _: places))
        async with stdio_server() as (read, write):
            await server.run(read, write, server.create_initialization_options())

    library.models.begin("encoder")
    anyio.run(serve)
