// Package lint finds what is valid in a configuration and still harms the agents or the people who read it: text that
// is hidden or instructs models, lists that take many tokens, what clients refuse, inputs without explanation.
package lint

import (
	"bytes"
	"cmp"
	"encoding/json"
	"slices"
	"strings"

	"hatchel/hcl"
	"hatchel/hcl/diag"
	"hatchel/internal/printable"
	"hatchel/internal/tokens"
)

// Rule is one rule. Its findings are errors or warnings.
type Rule struct {
	Name, Doc string
}

// Rules lists the rules.
var Rules = []Rule{
	{"hidden-text", "Characters that people do not see, or see in another order than models."},
	{"steering", "Phrases that instruct a model beyond the tool that they describe."},
	{"thin", "A description that only repeats the name."},
	{"input", "An input that nobody explains, or more than 12 inputs."},
	{"name", "A name that is easily confused with another one."},
	{"client", "What clients or the APIs of their models refuse or cut. The limits are in docs/clients.md."},
	{"budget", "More tokens, tools or text than an agent reads well."},
	{"search", "A search block of a toolset whose list is short enough without it."},
	{"caller-filter", "A table whose rows one tool chooses by the caller, and another one does not."},
	{"mask-oracle", "A statement that compares a masked column with a value that callers choose: who tries values " +
		"learns the column."},
	{"mask", "A member of a mask that no output of a backend has."},
	{"upstream", "A pinned definition that no block uses, a description that is still that of the server, a hint of " +
		"the server that nobody confirmed, and credentials that are sent to it over http."},
	{"skill", "A skill whose links lead to nothing, that names unknown tools, or that hosts ignore in part; scripts, " +
		"credentials, and more than 5,000 tokens."},
	{"allow", "A comment # lint:allow that is wrong or allows nothing."},
}

// Options are the inputs of a check.
type Options struct {
	// Tools are the entries of tools/list by the name of the tool, as clients receive them. A tool without one is not
	// listed.
	Tools map[string]Entry
	// Searched are the lists of the toolsets with a search block, like Tools.
	Searched  map[string]map[string]Entry
	MaxTokens int // of all tools together, and of each toolset; 0 for DefaultMaxTokens
	// Parallel calls do for 0 to n-1 as that of hcl.Options does; nil for sequential calls.
	Parallel func(n int, do func(i int))
}

// DefaultMaxTokens is the limit of the tools of a server.
const DefaultMaxTokens = 25_000

// Entry is an entry of tools/list, as clients receive it.
type Entry = json.RawMessage

// Finding is one finding of a rule.
type Finding struct {
	Rule string `json:"rule"`
	*diag.Diagnostic

	block diag.Range // the first line of the block of a skill, for a finding in one of its files
}

// Result is the outcome of a check.
type Result struct {
	Findings []Finding // sorted by position
	Allowed  int       // findings that a comment allows
	Tokens   int       // estimate for all listed tools
}

// Check applies all rules to a configuration that was loaded without errors. It reads nothing else.
func Check(config *hcl.Config, opts Options) Result {
	c := &checker{config: config, opts: opts, sources: parseSources(config.Sources, opts.Parallel),
		tools: map[string][]string{}, steers: map[string][]printable.Match{}}
	c.opts.MaxTokens = cmp.Or(opts.MaxTokens, DefaultMaxTokens)
	for _, name := range diag.SortedNames(opts.Tools) {
		var entry any
		if json.Unmarshal(opts.Tools[name], &entry) == nil {
			c.tools[name] = appendStrings(nil, entry)
		}
	}
	c.checkTexts()
	c.checkTools()
	c.checkNames()
	c.checkClients()
	c.checkCallers()
	c.checkMasks()
	c.checkUpstreams()
	c.checkSkills()
	total := c.checkBudget()
	found, allowed := c.applyComments()
	slices.SortStableFunc(found, func(a, b Finding) int {
		return cmp.Or(strings.Compare(a.Subject.File, b.Subject.File),
			cmp.Compare(a.Subject.Start.Byte, b.Subject.Start.Byte))
	})
	return Result{found, allowed, total}
}

// checker is the state of one Check.
type checker struct {
	config  *hcl.Config
	opts    Options
	sources []*sourceFile
	tools   map[string][]string          // all texts of the entry of a tool
	steers  map[string][]printable.Match // by text
	found   []Finding
}

func (c *checker) report(rule string, severity diag.Severity, at diag.Range, summary, detail string) {
	d := &diag.Diagnostic{Severity: severity, Summary: summary, Detail: detail, Subject: at}
	c.found = append(c.found, Finding{rule, d, diag.Range{}})
}

// Tokens returns the estimate for one entry of a list, without its metadata, which clients do not show to models.
func Tokens(entry Entry) int {
	var members map[string]json.RawMessage
	if bytes.Contains(entry, []byte(`,"_meta":`)) && json.Unmarshal(entry, &members) == nil {
		return tokens.Estimate(string(entry)) - tokens.Estimate(string(members["_meta"]))
	}
	return tokens.Estimate(string(entry))
}

// appendStrings appends all strings of a JSON value, with the names of members.
func appendStrings(texts []string, v any) []string {
	switch v := v.(type) {
	case string:
		texts = append(texts, v)
	case []any:
		for _, e := range v {
			texts = appendStrings(texts, e)
		}
	case map[string]any:
		for _, name := range diag.SortedNames(v) {
			texts = appendStrings(append(texts, name), v[name])
		}
	}
	return texts
}
