package reference

import (
	"strings"

	"hatchel/hcl"
	"hatchel/hcl/eval/exprlang"
	"hatchel/hcl/eventkind"
	"hatchel/hcl/functions"
	"hatchel/runtime/observe/metrics"
)

// Topic is a page of the reference that is not about a block.
type Topic struct {
	Key      string
	Title    string
	Sections []Section
}

// Section is a part of a topic: a text, code and a table, each of which may be missing.
type Section struct {
	Text   string
	Code   string
	Column string // heading of the first column of the table
	List   bool   // the table is written as a list on a terminal
	Rows   [][2]string
}

// newTopics returns the topics, in the order of the overview.
func newTopics() []*Topic {
	return []*Topic{typesTopic, namesTopic, functionsTopic(), limitsTopic, metricsTopic(), eventsTopic()}
}

// metricsTopic lists the metrics, as the server declares them.
func metricsTopic() *Topic {
	var rows [][2]string
	for _, f := range metrics.Families() {
		kind := strings.ToUpper(f.Type[:1]) + f.Type[1:]
		if len(f.Labels) > 0 {
			kind += " by " + strings.Join(f.Labels, ", ")
		}
		rows = append(rows, [2]string{f.Name, kind + ". " + f.Help})
	}
	return &Topic{"metrics", "What Prometheus scrapes from GET /metrics", []Section{
		{
			Text: "The metrics that a metrics block serves. A series exists for what the " +
				"configuration declares and was " +
				"called. A name that a caller invents is " + metrics.Unknown + ". The " +
				"series of what a reload has removed " +
				"go after five minutes. Each metric has at most 10,000 series with names of " +
				"the configuration; further " +
				"ones have the name _other. Of a call that is traced, durations have the " +
				"trace as an exemplar in the OpenMetrics " +
				"format. Metrics of the Go runtime and of the process begin with go_ and process_.",
			Column: "metric",
			Rows:   rows,
		},
	}}
}

// eventsTopic lists the events, as package eventkind declares them.
func eventsTopic() *Topic {
	sections := []Section{{
		Text: "The events that GET /events sends where there is an events block. The data of each is one JSON " +
			"object. With Accept: application/x-ndjson each is a line, which has the id, too. A listener that comes " +
			"back with the id as since, or as the header Last-Event-ID, gets what it has missed. All events have:",
		Column: "member", Rows: fieldRows(eventkind.Common),
	}}
	for _, kind := range eventkind.Kinds() {
		d := kind.Declare()
		sections = append(sections, Section{Text: d.Name + ": " + d.Doc, Column: "member", Rows: fieldRows(d.Fields)})
	}
	return &Topic{"event-types", "What GET /events sends", sections}
}

func fieldRows(fields []eventkind.Field) (rows [][2]string) {
	for _, f := range fields {
		text := strings.ToUpper(f.Type[:1]) + f.Type[1:]
		if f.Optional {
			text += ", optional"
		}
		rows = append(rows, [2]string{f.Name, text + ". " + f.Doc})
	}
	return rows
}

var typesTopic = &Topic{"types", "How types are written", []Section{
	{
		Text: "A type says which values an input accepts. Clients see it as JSON Schema, and the server " +
			"validates arguments against it.",
		Column: "type",
		Rows: [][2]string{
			{"string number integer bool any", "One value."},
			{"list(T) set(T) map(T)", "Values of one type. A set has no duplicates; a map has string keys."},
			{"object({ id = integer, note = optional(string) })", "A value with named members."},
			{`enum("open", "paid")`, "One of some values."},
			{`enum({ open = "Open orders" })`, "One of some values, each with a title."},
			{"one_of(string, list(string))", "A value of one of several types, which is kept as it is " +
				"sent: an alternative has no defaults. An error is that of the nearest alternative. Expressions read " +
				"the members of all objects among the alternatives; one that some lack may be null."},
			{`file("A scan", { max_size = "10MiB", types = ["image/*"] })`, "A file that the caller has " +
				"uploaded with POST /files. For inputs of tools. See hatchel docs files."},
			{"optional(T)", "May be omitted, and is null then. For inputs and members. Null counts as omitted, " +
				"although the JSON Schema does not allow it: models send it. Nothing else is accepted that is not " +
				"advertised."},
			{"optional(T, default)", "May be omitted, and has the default then."},
			{"nullable(T)", "May be null."},
			{"type.name", `The type that a type "name" block declares. Inside the block it contains itself, in a ` +
				"list, a map or something optional: every level of a value is checked, and the schema refers to " +
				"$defs. So does a schema that uses a type several times, if that makes it shorter."},
		},
	},
	{
		Text: "Every type except enum accepts a description and keywords, also inside optional and nullable:",
		Code: `input "name" { type = string("Who to greet", { max_length = 80 }) }
input "tags" { type = optional(list(string, { max_items = 5 }), []) }`,
	},
	{Text: "An input can have the keywords as arguments instead. hatchel docs input describes each."},
}}

var namesTopic = &Topic{"names", "What templates and expressions can read", []Section{
	{
		Column: "name",
		Rows: [][2]string{
			{"var.<name>", "A variable. Known at load."},
			{"local.<name>", "A local value of the file or of the tool."},
			{"secret.<name>", "A secret. Only in templates, and only in arguments that may contain secrets; " +
				"hatchel docs BLOCK marks them."},
			{"input.<name>", "An argument of the call or prompt, or a variable of the URI, validated and " +
				"with its default. In complete the typed text; the other inputs are strings or null."},
			{"input.<file>.<member>", "Of an input with the type file: file_id, filename, content_type, size " +
				"and sha256. In templates also " +
				"path, a copy for the programs of the call, and url, a signed URL of this server."},
			{"output", "The output of the backend of a tool. In a step and its expect blocks, that of the step."},
			{"step.<name>", "The result of an earlier step; null when it was skipped. With each it is a list " +
				"or a map. Of a step with ask blocks: step.<name>.<ask>."},
			{"each.key each.value", "The current element, in a block with each."},
			{"caller", "The authenticated caller: caller.subject, which may be null, caller.groups, caller.scopes, " +
				"caller.claims, and caller.headers, those that the auth block lists. As the client reports it: " +
				"caller.client and caller.capabilities, as in 'sampling' in caller.capabilities."},
			{"error", "In error texts: error.message, error.status, error.code, error.step, error.constraint, " +
				"error.table, error.columns."},
		},
	},
	{Text: "The members of output are listed with each backend: hatchel docs http, sql, shell, csv, file."},
	{Text: "In a template, ${input.name} is an interpolation; %{if input.name != null} ... %{else} ... " +
		"%{endif} and %{for r in input.rows} ... %{endfor} control its text; $${ writes ${, and %%{ writes " +
		"%{. An expression has no ${...}: " + `when = "input.name != null".`},
}}

// functionsTopic lists the functions of their tables.
func functionsTopic() *Topic {
	return &Topic{"functions", "What templates and expressions can call", []Section{
		{Text: "These functions are available in templates and in expressions.", Column: "function", List: true,
			Rows: rowsOf(functions.Table(), func(f functions.Function) (usage, doc string) {
				return f.Usage(), f.Doc
			})},
		{Text: "These are available in the templates of one language only.", Column: "function", List: true,
			Rows: rowsOf(hcl.TemplateFunctions(),
				func(f hcl.FunctionReference) (usage, doc string) { return f.Usage, f.Doc })},
		{Text: "These are available in expressions only. A predicate reads the element as # and its members " +
			"as .name: output.rows | filter(.amount > 0).", Column: "function", List: true,
			Rows: rowsOf(exprlang.Builtins(), func(f exprlang.Builtin) (usage, doc string) { return f.Usage, f.Doc })},
	}}
}

var limitsTopic = &Topic{"limits", "Fixed limits", []Section{
	{Text: "These limits are not configurable. Those with an argument are in hatchel docs BLOCK.",
		Column: "limit", Rows: limitRows},
}}

// rowsOf returns the rows of the functions of a table.
func rowsOf[T any](all []T, row func(T) (usage, doc string)) [][2]string {
	rows := make([][2]string, len(all))
	for i, f := range all {
		rows[i][0], rows[i][1] = row(f)
	}
	return rows
}
