package lint

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math/big"
	"slices"
	"strings"
	"unicode/utf8"

	"hatchel/hcl"
	"hatchel/hcl/diag"
	"hatchel/internal/lazyregexp"
)

// ClientLimit is something that a client or the API of its model refuses, or cuts.
type ClientLimit struct {
	What    string // what is refused or cut
	Clients string
	Does    string // what they do about it
	Date    string // of the source
	Source  string // URL
	Fix     string
}

// The limits of clients, in the order of the documentation.
var (
	limitItems = &ClientLimit{"an array without `items`", "VS Code, Gemini", "refuse the tool or the whole request",
		"2026-08-18", "https://github.com/TokenRhythm/opensquilla/issues/1263",
		"Give the array items; list(TYPE) and set(TYPE) have them."}
	limitTypes = &ClientLimit{"a list of types, as in `[\"string\", \"null\"]`", "Gemini", "refuses the whole request",
		"2026-09-17", "https://github.com/aoci-spec/aoci-code/issues/61",
		"Write anyOf with one type in each alternative; nullable(TYPE) is written so."}
	limitComposition = &ClientLimit{"`oneOf`, `allOf`, `not`, `if` or `patternProperties`", "OpenAI",
		"refuses the whole request", "2026-05-02", "https://github.com/can1357/oh-my-pi/issues/920",
		"Write anyOf, as one_of(TYPE, …) does, and state conditions as check blocks."}
	limitTop = &ClientLimit{"`anyOf`, `enum` or `$ref` at the top of an `inputSchema`", "Claude, OpenAI",
		"refuse the whole request", "2026-04-07", "https://github.com/anthropics/claude-code/issues/44788",
		"Give the tool one object of inputs, and let one input have the alternatives."}
	limitConst = &ClientLimit{"`const`", "Gemini", "refuses the whole request",
		"2026-09-06", "https://github.com/taylorwilsdon/google_workspace_mcp/issues/1099",
		"Write an enum of one value."}
	limitEnumType = &ClientLimit{"an `enum` of anything but strings", "Gemini", "refuses the whole request",
		"2026-03-29", "https://github.com/diegosouzapw/OmniRoute/pull/760",
		"Write the values as strings, or bounds, as in integer({ min = 1, max = 3 })."}
	limitBoolean = &ClientLimit{"`true` or `false` as a schema", "Gemini", "refuses the whole request",
		"2026-09-08", "https://github.com/github/copilot-cli/issues/4623",
		"Write {} in place of true, and leave a member with false out."}
	limitRef = &ClientLimit{"`$ref`", "Claude (managed agents), Gemini", "refuse the whole request",
		"2026-09-15", "https://github.com/diegosouzapw/OmniRoute/issues/13552",
		"Write the type where it is used. One that contains itself needs a bound, such as members for three levels."}
	limitAny = &ClientLimit{"an input without a type", "Gemini, OpenAI (strict)", "refuse the whole request",
		"2026-08-19", "https://github.com/NousResearch/hermes-agent/pull/89673",
		"Write the types that it may have, as in one_of(string, list(string))."}
	limitPattern = &ClientLimit{"a `pattern` with lookahead or lookbehind", "OpenAI, llama.cpp",
		"refuse the whole request",
		"2026-09-10", "https://github.com/cline/cline/pull/14019", "Write a pattern without (?=, (?!, (?<= and (?<!."}
	limitKey = &ClientLimit{
		"a name of an input or member that is not 1 to 64 letters of ASCII, digits, `_`, `.` and `-`", "Claude",
		"refuses the whole request", "2026-07-20", "https://github.com/anthropics/claude-code/issues/79418",
		"Rename it, and map it to the name that the service has."}
	limitNumber = &ClientLimit{"an integer of a schema beyond 2^53", "clients in JavaScript", "round it", "2017-12-01",
		"https://www.rfc-editor.org/rfc/rfc8259#section-6", "Write the value as a string, or a smaller bound."}
	limitDepth = &ClientLimit{"more than 10 levels of objects and arrays", "OpenAI (strict)",
		"refuses the whole request",
		"2026-02-01", "https://jsonschemaprofiles.unitvectorylabs.com/schemas/openai", "Flatten the input."}
	limitValues = &ClientLimit{"more than 1,000 values of enumerations in a tool", "OpenAI (strict)",
		"refuses the whole request", "2026-02-01", "https://jsonschemaprofiles.unitvectorylabs.com/schemas/openai",
		"Accept a text, and complete it or check it in a step."}
	limitEnumSize = &ClientLimit{"more than 250 values in one enumeration, with more than 15,000 characters",
		"OpenAI (strict)", "refuses the whole request", "2026-02-01",
		"https://jsonschemaprofiles.unitvectorylabs.com/schemas/openai",
		"Accept a text, and complete it or check it in a step."}
	limitProperties = &ClientLimit{"more than 5,000 members in a tool", "OpenAI (strict)", "refuses the whole request",
		"2026-02-01", "https://jsonschemaprofiles.unitvectorylabs.com/schemas/openai", "Split the tool."}
	limitStrings = &ClientLimit{"more than 120,000 characters of names and values of enumerations in a tool",
		"OpenAI (strict)", "refuses the whole request", "2026-02-01",
		"https://jsonschemaprofiles.unitvectorylabs.com/schemas/openai", "Split the tool."}
	limitDescription = &ClientLimit{"a description of a tool of more than 1,024 characters", "OpenAI, Azure OpenAI",
		"refuse the whole request; Claude Code cuts at 2,048", "2026-04-14",
		"https://github.com/dynamiq-ai/dynamiq/pull/688", "Shorten it; say the rest where it is needed, in an input."}
	limitInstructions = &ClientLimit{"`instructions` of more than 2,048 characters", "Claude Code", "cuts them",
		"2026-07-26", "https://github.com/anthropics/claude-code/issues/81268",
		"Say what matters first, and move the rest to a resource or to descriptions."}
	limitTools = &ClientLimit{"more than 128 tools", "VS Code, OpenAI", "refuse the whole request",
		"2026-06-21", "https://github.com/microsoft/copilot-intellij-feedback/issues/1842",
		"Serve them as toolsets; Cursor lists 40."}
	limitNameChars = &ClientLimit{"a name of a tool with a dot", "Claude, Codex, Copilot CLI",
		"refuse the whole request", "2026-04-08", "https://github.com/github/copilot-cli/issues/2581",
		"Write _ in its place."}
	limitName = &ClientLimit{"a name of more than 64 characters, with `mcp__`, the server and `__` before it",
		"OpenAI and clients of it", "refuse the whole request, or leave the tool out", "2026-09-04",
		"https://github.com/microsoft/foundry-dev-tools/issues/723", "Shorten the name of the tool or of the server."}
	limitNames = &ClientLimit{"names of the server and the tool of more than 60 characters together", "Cursor",
		"leaves the tool out", "read 2026-11-29",
		"https://easymanage.com/res/docs/tutorials/ai-solutions/chapter-3-mcp-advanced",
		"Shorten the name of the tool or of the server."}
)

// ClientLimits are all limits of clients.
var ClientLimits = []*ClientLimit{
	limitNameChars, limitName, limitNames, limitTools, limitDescription, limitInstructions, limitTop, limitItems,
	limitTypes, limitAny, limitComposition, limitConst, limitEnumType, limitBoolean, limitRef, limitPattern,
	limitKey, limitNumber,
	limitDepth, limitProperties, limitValues, limitEnumSize, limitStrings,
}

const (
	maxInstructions    = 2048 // characters
	maxToolDescription = 1024
	maxRequestTools    = 128
	maxDepth           = 10
	maxValues          = 1000
	maxLargeEnum       = 250
	maxLargeEnumText   = 15_000
	maxProperties      = 5000
	maxSchemaText      = 120_000
)

// reportClient reports what clients refuse. Where is the place in the tool; empty for the whole of it.
func (c *checker) reportClient(at diag.Range, l *ClientLimit, where string) {
	if where != "" {
		where = " (" + where + ")"
	}
	c.report("client", diag.Warning, at, "Refused by clients", fmt.Sprintf("It has %s%s. %s: %s (%s, %s). %s",
		strings.ReplaceAll(l.What, "`", ""), where, l.Clients, l.Does, l.Date, l.Source, l.Fix))
}

// checkClients checks what clients load: the names, texts and schemas of each listed tool, and the instructions.
func (c *checker) checkClients() {
	if utf8.RuneCountInString(c.config.Server.Instructions) > maxInstructions {
		c.reportClient(c.serverRange(), limitInstructions, "")
	}
	for _, set := range c.config.Toolsets {
		if utf8.RuneCountInString(set.Instructions) > maxInstructions {
			c.reportClient(set.Range, limitInstructions, "")
		}
	}
	for _, t := range c.config.Tools {
		if entry, listed := c.opts.Tools[t.Name]; listed {
			c.checkClientName(t)
			if utf8.RuneCountInString(t.Description) > maxToolDescription {
				c.reportClient(t.Range, limitDescription, "")
			}
			c.checkSchemas(t, entry)
		}
	}
}

func (c *checker) checkClientName(t *hcl.Tool) {
	server := c.config.Server.Name
	if strings.Contains(t.Name, ".") {
		c.reportClient(t.Range, limitNameChars, strings.ReplaceAll(t.Name, ".", "_"))
	}
	if full := "mcp__" + server + "__" + t.Name; len(full) > maxName {
		c.reportClient(t.Range, limitName, fmt.Sprintf("%s has %d", full, len(full)))
	} else if n := len(server) + len(t.Name); n > maxServerAndToolName {
		c.reportClient(t.Range, limitNames, fmt.Sprintf("%d", n))
	}
}

// checkSchemas reports each limit once for a tool, at the first input that exceeds it.
func (c *checker) checkSchemas(t *hcl.Tool, entry Entry) {
	var e struct {
		InputSchema, OutputSchema any
	}
	d := json.NewDecoder(bytes.NewReader(entry))
	d.UseNumber()
	if d.Decode(&e) != nil {
		return
	}
	for _, part := range []struct {
		name   string
		schema any
	}{{"inputSchema", e.InputSchema}, {"outputSchema", e.OutputSchema}} {
		if part.schema == nil {
			continue
		}
		s := &schemaCheck{found: map[*ClientLimit]string{}}
		s.top(part.schema, part.name == "inputSchema")
		s.schema(part.schema, nil, 0)
		s.totals()
		for _, l := range ClientLimits {
			path, found := s.found[l]
			if !found {
				continue
			}
			at := t.Range
			if m, ok := t.Input.Lookup(firstName(path)); ok && part.name == "inputSchema" && m.Range.Filename != "" {
				at = diag.RangeOf(m.Range)
			}
			c.reportClient(at, l, strings.TrimSuffix(part.name+": "+strings.ReplaceAll(path, "\x00", "."), ": "))
		}
	}
}

// firstName returns the first name of a path.
func firstName(path string) string {
	name, _, _ := strings.Cut(path, "\x00")
	return name
}

// schemaCheck finds the limits that a schema exceeds.
type schemaCheck struct {
	found                        map[*ClientLimit]string // with the path of the first place
	properties, values, textSize int
}

func (s *schemaCheck) add(l *ClientLimit, path []string) {
	if _, known := s.found[l]; !known {
		s.found[l] = strings.Join(path, "\x00")
	}
}

// top checks the outermost object of a schema.
func (s *schemaCheck) top(schema any, input bool) {
	m, _ := schema.(map[string]any)
	for _, keyword := range []string{"anyOf", "oneOf", "allOf", "enum", "not", "$ref"} {
		if _, has := m[keyword]; has && input {
			s.add(limitTop, nil)
		}
	}
}

var (
	acceptedKey = lazyregexp.New(`^[a-zA-Z0-9_.-]{1,64}$`)
	lookaround  = lazyregexp.New(`\(\?<?[=!]`)
)

// refusedByOpenAI are keywords of limitComposition.
var refusedByOpenAI = []string{"oneOf", "allOf", "not", "if", "then", "else", "patternProperties", "dependentSchemas",
	"dependentRequired"}

// schema checks one schema and those inside of it. Depth is the number of objects and arrays around it.
func (s *schemaCheck) schema(v any, path []string, depth int) {
	m, ok := v.(map[string]any)
	if !ok {
		if _, isBool := v.(bool); isBool {
			s.add(limitBoolean, path)
		}
		return
	}
	s.keywords(m, path)
	inside := path[:len(path):len(path)]
	if m["properties"] != nil || m["items"] != nil || m["type"] == "object" || m["type"] == "array" {
		if depth++; depth > maxDepth {
			s.add(limitDepth, path)
		}
	}
	if properties, ok := m["properties"].(map[string]any); ok {
		for _, name := range diag.SortedNames(properties) {
			s.properties++
			s.textSize += len(name)
			at := append(inside, name)
			if !acceptedKey.MatchString(name) {
				s.add(limitKey, at)
			}
			s.property(properties[name], at)
			s.schema(properties[name], at, depth)
		}
	}
	for _, keyword := range []string{"items", "additionalProperties", "not", "if", "then", "else"} {
		if inner, has := m[keyword]; has && inner != false && (keyword != "additionalProperties" || inner != true) {
			s.schema(inner, inside, depth)
		}
	}
	for _, keyword := range []string{"anyOf", "oneOf", "allOf"} {
		list, _ := m[keyword].([]any)
		for _, inner := range list {
			s.schema(inner, inside, depth)
		}
	}
	for _, keyword := range []string{"$defs", "definitions", "patternProperties"} {
		defs, _ := m[keyword].(map[string]any)
		for _, name := range diag.SortedNames(defs) {
			s.textSize += len(name)
			s.schema(defs[name], inside, depth)
		}
	}
}

// property checks the schema of a member, which needs a type.
func (s *schemaCheck) property(v any, path []string) {
	m, ok := v.(map[string]any)
	typed := func(keyword string) bool { _, has := m[keyword]; return has }
	if ok && !slices.ContainsFunc([]string{"type", "anyOf", "oneOf", "allOf", "$ref", "enum", "const"}, typed) {
		s.add(limitAny, path)
	}
}

// keywords checks the keywords of one schema.
func (s *schemaCheck) keywords(m map[string]any, path []string) {
	if _, has := m["items"].(map[string]any); m["type"] == "array" && !has {
		s.add(limitItems, path)
	}
	if _, isList := m["type"].([]any); isList {
		s.add(limitTypes, path)
	}
	for _, keyword := range refusedByOpenAI {
		if _, has := m[keyword]; has {
			s.add(limitComposition, path)
		}
	}
	if _, has := m["const"]; has {
		s.add(limitConst, path)
	}
	if _, has := m["$ref"]; has {
		s.add(limitRef, path)
	}
	if pattern, _ := m["pattern"].(string); lookaround.MatchString(pattern) {
		s.add(limitPattern, path)
	}
	for _, keyword := range []string{"minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "default", "const"} {
		s.number(m[keyword], path)
	}
	if values, ok := m["enum"].([]any); ok {
		s.enum(values, path)
	}
}

func (s *schemaCheck) enum(values []any, path []string) {
	size := 0
	for _, v := range values {
		text, isText := v.(string)
		if !isText {
			s.add(limitEnumType, path)
		}
		s.number(v, path)
		size += len(text)
	}
	if s.values += len(values); len(values) > maxLargeEnum && size > maxLargeEnumText {
		s.add(limitEnumSize, path)
	}
	s.textSize += size
}

// number reports an integer that a float64 does not hold.
func (s *schemaCheck) number(v any, path []string) {
	text, _ := v.(json.Number)
	if n, ok := new(big.Int).SetString(string(text), 10); ok && n.CmpAbs(new(big.Int).Lsh(big.NewInt(1), 53)) > 0 {
		s.add(limitNumber, path)
	}
}

// totals checks the sums over the whole schema.
func (s *schemaCheck) totals() {
	if s.values > maxValues {
		s.add(limitValues, nil)
	}
	if s.properties > maxProperties {
		s.add(limitProperties, nil)
	}
	if s.textSize > maxSchemaText {
		s.add(limitStrings, nil)
	}
}
