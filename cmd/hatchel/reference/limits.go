package reference

// limitRows are the limits that no argument changes.
var limitRows = [][2]string{
	{"file of a configuration", "1 MiB, with brackets and templates nested 100 levels deep."},
	{"reported mistakes", "200 of a file, and how many more there are."},
	{"text of a configuration", "10,000 lines, where each $ and % counts as a line or two."},
	{"expression", "64 KiB, nested 200 levels deep."},
	{"steps of a tool, a resource or a prompt", "1,000."},
	{"text with a format", "16 KiB, unless the format is uri, uri-reference, iri or iri-reference. More is refused."},
	{"CSV that csvdecode reads", "2 MiB in a line, and 100,000 commas in a record. More is an error."},
	{"request over HTTP", "4 MiB, nested 64 levels deep."},
	{"message over standard input", "16 MiB, nested 64 levels deep."},
	{"clientInfo and capabilities", "64 KiB of a request."},
	{"requests at once", "4,096 in total, and 128 for each session or pair of streams."},
	{"session over HTTP", "30 days. 4,096 are in memory; the others come back with their next request."},
	{"sessions with a log level, subscriptions or large clientInfo", "10,000 of one caller. The oldest one loses " +
		"them."},
	{"ended sessions", "the latest 100,000 of a day are known to have ended."},
	{"cancelled calls of other processes", "200 a second in all."},
	{"event streams", "16,384 in all."},
	{"subscribed resources", "10,000 in all, 1,000 of one subscription."},
	{"completion values", "100 of an input."},
	{"text of a result", "64 KiB, unless max_text says otherwise. Longer text is truncated, and the result says so."},
	{"structured result", "256 KiB, or four times max_text. A longer list is cut, and the result says so; any other " +
		"value fails the call."},
	{"columns of a table in CSV or Markdown", "200. More are sent as JSON."},
	{"members of a projection", "64."},
	{"pages of a tool", "1,000 rows of one, 1,000,000 of all. The keys of a row have at most 512 bytes, and a " +
		"cursor 2 KiB."},
	{"outputs of a step with each", "128 MiB in all, where every value counts 32 bytes or more. More fail the call."},
	{"resource", "16 MiB. A larger one cannot be read."},
	{"cached results", "64 MiB in all; those that were not used longest are removed."},
	{"state of a paused call or a task", "4 MiB: the results of its steps, and for a task its inputs."},
	{"state file", "1 GiB for new tasks and large records, 2 GiB for everything but small updates."},
	{"tasks that run at once", "1,024 of a process. Tasks that wait for an answer do not count."},
	{"pending approvals", "16,384 in all, 1,024 of one caller, 256 of one caller that wait in one process."},
	{"uploaded files", "1,000 of one caller with at most 256 MiB, and 16 uploads at once. One upload may take 15 " +
		"minutes."},
	{"reason of a decision", "1,000 characters."},
	{"webhook deliveries", "8 at once to one endpoint. Response headers have at most 64 KiB."},
	{"arguments in an audit record", "8 KiB. Longer ones are truncated, with their size and hash."},
	{"shutdown", "30 seconds for active calls to end, after --drain; 5 seconds for connections that are idle."},
}
