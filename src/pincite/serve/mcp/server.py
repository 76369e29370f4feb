"""An MCP server over a library: calls in, citable results out; what fails says what to do."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import anyio
import anyio.to_thread
import mcp_types as types
from mcp.server.lowlevel import Server
from mcp.server.stdio import stdio_server
from mcp.shared.exceptions import MCPError
from pydantic import ValidationError

from pincite import __version__
from pincite.errors import PinciteError
from pincite.serve.mcp import shapes
from pincite.serve.mcp.advice import INSTRUCTIONS, TOOLS
from pincite.serve.mcp.tools import Call, Stopped, Tool, tools

if TYPE_CHECKING:
    from pincite.library import Library

Context = Any  # of one request; its generic form differs between transports
_RUNNING = 4  # calls at a time; others wait


def build_server(caller: Callable[[Context], Call], allowed: Callable[[Context], Mapping[str, Tool]]) -> Server[Any]:
    """Build a server.

    Args:
        caller: gives what a request may use: the library through the eyes of who asks.
        allowed: gives the tools that he may use.

    Returns:
        The server, for any transport.
    """
    limiter: list[anyio.CapacityLimiter] = []  # made inside the event loop

    async def list_tools(context: Context, _: types.PaginatedRequestParams | None) -> types.ListToolsResult:
        return types.ListToolsResult(tools=[_described(tool) for tool in allowed(context).values()])

    async def call_tool(context: Context, params: types.CallToolRequestParams) -> types.CallToolResult:
        tool = allowed(context).get(params.name)
        if tool is None:
            raise MCPError(types.INVALID_PARAMS, f"There is no tool {params.name!r}.")
        if not limiter:
            limiter.append(anyio.CapacityLimiter(_RUNNING))
        try:
            arguments = tool.takes.model_validate(params.arguments or {})
            call = caller(context)
            try:
                work = partial(_run, tool, call, arguments)
                text, result = await anyio.to_thread.run_sync(work, abandon_on_cancel=True, limiter=limiter[0])
            finally:
                call.stop.set()  # ends the work of a call that was cancelled
        except ValidationError as error:
            return _failed(f"Wrong arguments for {tool.name}: {_problems(error)}.", "Call it as its schema says.")
        except PinciteError as error:
            return _failed(str(error), error.fix)
        return types.CallToolResult(content=[types.TextContent(type="text", text=text)], structured_content=result)

    return Server(
        "pincite",
        title="Pincite",
        version=__version__,
        instructions=INSTRUCTIONS,
        on_list_tools=list_tools,
        on_call_tool=call_tool,
    )


def _run(tool: Tool, call: Call, arguments: shapes.Arguments) -> tuple[str, dict[str, Any]]:
    """Run a tool in a thread; what is stopped has nobody who waits for it."""
    with suppress(Stopped):
        call.go_on()
        return tool(call, arguments)
    return "", {}


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
    offered = tools(read_only=read_only)
    server = build_server(lambda _: Call(library, roots), lambda _: offered)

    async def serve() -> None:
        async with stdio_server() as (read, write):
            await server.run(read, write, server.create_initialization_options())

    library.models.begin("encoder")
    anyio.run(serve)
