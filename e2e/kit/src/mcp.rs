//! The command `mcp`: a stack, the examiner and the conformance runner as tools of the Model
//! Context Protocol, over standard input and output.

mod calls;
mod reports;

use std::process::{ExitCode, exit};

use agent::control::Control;
use clap::Args;
use examiner::cli::{control_address, failed};
use examiner::plan::DEFAULT_CONTROL;
use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CallToolResult, ContentBlock, Implementation,
    JsonObject, ListToolsResult, PaginatedRequestParams, ServerCapabilities, ServerConfig,
};
use rmcp::service::{RequestContext, ServerInitializeError};
use rmcp::{ErrorData, RoleServer, ServerHandler, ServiceExt as _};
use stack::control::Call;

/// Offer the stack, the examiner and the conformance runner to a coding agent, as tools
///
/// The program speaks the Model Context Protocol on standard input and output until its input
/// ends. An agent starts it: its settings name the command signin-kit and the argument mcp.
#[derive(Debug, Args)]
pub(crate) struct Settings {
    /// The control address of the stack, which may start later
    #[arg(long, value_name = "URL", default_value = DEFAULT_CONTROL)]
    control: String,
}

impl Settings {
    /// Serves until standard input ends; a run that is under way ends with it.
    pub(crate) async fn run(self) -> ExitCode {
        let address = control_address(&self.control);
        let server = match address.and_then(|url| Ok(Control::at(&url)?)) {
            Ok(control) => Server { control },
            Err(error) => return failed("mcp", &error),
        };
        match server.serve(rmcp::transport::stdio()).await {
            Ok(running) => drop(running.waiting().await),
            Err(ServerInitializeError::ConnectionClosed(_)) => {}
            Err(_) => {
                failed("mcp", "the client did not begin with a request");
                // The runtime would wait for the end of standard input.
                exit(2);
            }
        }
        reports::ended().await;
        ExitCode::SUCCESS
    }
}

/// The server of one client.
struct Server {
    control: Control,
}

impl ServerHandler for Server {
    fn get_info(&self) -> ServerConfig {
        let capabilities = ServerCapabilities::builder().enable_tools().build();
        ServerConfig::new(capabilities)
            .with_server_info(Implementation::new("signin-kit", env!("CARGO_PKG_VERSION")))
            .with_instructions(
                include_str!("mcp/instructions.txt").replace("{control}", self.control.url()),
            )
    }

    async fn list_tools(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        let calls = calls::all().map(|call| calls::tool(&call));
        let tools = reports::tools().into_iter().chain(calls).collect();
        Ok(ListToolsResult::with_all_items(tools))
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let (name, arguments) = (request.name, request.arguments.unwrap_or_default());
        let answer = if reports::tools().iter().any(|it| it.name == name) {
            reports::make(&name, arguments, self.control.url(), &context).await
        } else if let Some(call) = calls::all().find(|it| calls::name(it) == name) {
            self.make(&call, arguments).await
        } else {
            let message = format!("there is no tool {name}: tools/list has all");
            return Err(ErrorData::invalid_params(message, None));
        };
        Ok(answer.unwrap_or_else(failure).into())
    }
}

impl Server {
    /// Makes a call of the control address.
    async fn make(&self, call: &Call, arguments: JsonObject) -> Result<CallToolResult, String> {
        let (path, body) = calls::request(call, arguments)?;
        let method = call.method().parse().map_err(|_| "no method of HTTP")?;
        let answer = self.control.text(method, &path, body.as_ref()).await?;
        // Some agents refuse a text without characters.
        let text = if answer.is_empty() { "done" } else { &answer };
        Ok(CallToolResult::success(vec![ContentBlock::text(text)]))
    }
}

/// The answer of a tool that fails, with the way out if there is no stack.
fn failure(mut error: String) -> CallToolResult {
    if error.contains("no stack at") && !error.contains("`signin-kit up`") {
        error += ". Start one with `signin-kit up`, or name another with --control";
    }
    CallToolResult::error(vec![ContentBlock::text(error)])
}
