package lint

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"hatchel/hcl"
	"hatchel/hcl/diag"
	"hatchel/hcl/schema"
	"hatchel/internal/printable"
)

// Limits of the rules.
const (
	maxInputs            = 12
	maxToolTokens        = 1500
	maxDescription       = 2000 // characters
	maxEnum              = 60
	maxTools             = 40
	maxName              = 64 // of mcp__server__tool
	maxServerAndToolName = 60
)

// checkTools checks each listed tool by itself.
func (c *checker) checkTools() {
	for _, t := range c.config.Tools {
		entry, listed := c.opts.Tools[t.Name]
		if !listed {
			continue
		}
		if repeatsName(t.Description, t.Name) {
			c.report("thin", diag.Warning, t.Range, "Thin description",
				"The description only repeats the name. Say what the tool returns or changes, and when to use it.")
		}
		if n := len(t.Input.Members); n > maxInputs {
			c.report("input", diag.Warning, t.Range, "Many inputs", fmt.Sprintf(
				"The tool has %d inputs; models fill at most %d reliably. Split the tool, or group inputs in an "+
					"object.", n, maxInputs))
		}
		for _, m := range t.Input.Members {
			c.checkInput(t, m)
		}
		if n := Tokens(entry); n > maxToolTokens {
			c.report("budget", diag.Error, t.Range, "Large tool", fmt.Sprintf(
				"The tool takes ≈ %d tokens of each agent that lists it; at most %d are accepted. Shorten its texts "+
					"or its schema.", n, maxToolTokens))
		}
		if n := utf8.RuneCountInString(t.Description); n > maxDescription {
			c.report("budget", diag.Error, t.Range, "Long description", fmt.Sprintf(
				"The description has %d characters; at most %d are accepted.", n, maxDescription))
		}
	}
}

func (c *checker) checkInput(t *hcl.Tool, m *schema.Member) {
	at := t.Range
	if m.Range.Filename != "" {
		at = diag.RangeOf(m.Range)
	}
	if m.Type.Kind == schema.String && m.Type.Description == "" && m.Type.Title == "" && len(m.Type.Enum) == 0 &&
		m.Type.Format == "" && m.Type.Pattern == nil && len(m.Type.Examples) == 0 {
		c.report("input", diag.Warning, at, "Unexplained input", fmt.Sprintf(
			"The input %q is any text, and nothing says which. Describe it, as in "+
				"`type = string(\"Name of the customer\")`.",
			m.Name))
	}
	if n := len(m.Type.Enum); n > maxEnum {
		c.report("budget", diag.Error, at, "Long enumeration", fmt.Sprintf(
			"The input %q has %d values; at most %d are accepted. Accept a text, and complete it or check it "+
				"in a step.",
			m.Name, n, maxEnum))
	}
	if printable.MixesScripts(m.Name) {
		c.report("hidden-text", diag.Error, at, "Mixed scripts", fmt.Sprintf(
			"The name %q mixes Latin letters with letters of another script that look the same.", m.Name))
	}
}

// repeatsName reports whether a text has no word but those of a name.
func repeatsName(text, name string) bool {
	words := func(s string) []string {
		return strings.FieldsFunc(strings.ToLower(s), func(r rune) bool {
			return !unicode.IsLetter(r) && !unicode.IsDigit(r)
		})
	}
	known := map[string]bool{"a": true, "an": true, "the": true, "tool": true, "one": true}
	for _, w := range words(name) {
		known[strings.TrimSuffix(w, "s")] = true
	}
	for _, w := range words(text) {
		if !known[strings.TrimSuffix(w, "s")] {
			return false
		}
	}
	return true
}

// checkNames finds names that models confuse.
func (c *checker) checkNames() {
	similar, sameVerb := map[string]string{}, map[string]string{}
	for _, t := range c.config.Tools {
		if _, listed := c.opts.Tools[t.Name]; !listed {
			continue
		}
		warn := func(summary, format string, args ...any) {
			c.report("name", diag.Warning, t.Range, summary, fmt.Sprintf(format, args...))
		}
		if other, ok := similar[skeleton(t.Name)]; ok {
			warn("Similar names", "%q and %q look alike, so a model takes one for the other.", other, t.Name)
		}
		similar[skeleton(t.Name)] = t.Name
		if same := canonicalVerb(t.Name); same != "" {
			if other, ok := sameVerb[same]; ok && other != t.Name {
				warn("Two verbs", "%q and %q have verbs of one meaning, so a model cannot choose. Use one of the "+
					"verbs for one action, or say the difference in the names.", other, t.Name)
			}
			sameVerb[same] = t.Name
		}
	}
}

// skeleton returns a name without what is easily overlooked.
func skeleton(name string) string {
	return overlooked.Replace(strings.ToLower(name))
}

var overlooked = strings.NewReplacer("-", "", "_", "", ".", "", "0", "o", "1", "l", "i", "l")

// verbs lists verbs of one meaning.
var verbs = [][]string{
	{"get", "fetch", "retrieve"}, {"list", "enumerate"}, {"create", "add", "new", "make"},
	{"delete", "remove", "destroy"}, {"update", "edit", "modify", "change"}, {"search", "find", "query"},
	{"send", "dispatch"}, {"run", "execute"},
}

// canonicalVerb returns a name with the first verb of its meaning, or "" for a name without one.
func canonicalVerb(name string) string {
	verb, rest, ok := strings.Cut(strings.ToLower(name), "_")
	for _, same := range verbs {
		for _, v := range same {
			if ok && v == verb {
				return same[0] + "_" + rest
			}
		}
	}
	return ""
}

// checkBudget checks what agents read of the whole server and of each toolset. It returns the tokens of all tools.
func (c *checker) checkBudget() (total int) {
	all := make(map[string]int, len(c.opts.Tools))
	for name, entry := range c.opts.Tools {
		all[name] = Tokens(entry)
		total += all[name]
	}
	if !c.inToolsets(all) {
		c.checkPart("The server", c.serverRange(), total, len(all), len(c.config.Toolsets) == 0)
	}
	for _, set := range c.config.Toolsets {
		sum, n := 0, 0
		for name, tokens := range all {
			if set.HasTool(name) {
				sum, n = sum+tokens, n+1
			}
		}
		if set.Search != nil {
			c.checkSearch(set, sum, n)
			sum, n = 0, len(c.opts.Searched[set.Name])
			for _, entry := range c.opts.Searched[set.Name] {
				sum += Tokens(entry)
			}
		}
		c.checkPart(fmt.Sprintf("The toolset %q", set.Name), set.Range, sum, n, true)
	}
	return total
}

// inToolsets reports whether every tool is in a toolset, so that no agent has to list all of them.
func (c *checker) inToolsets(tools map[string]int) bool {
	for name := range tools {
		if !slices.ContainsFunc(c.config.Toolsets, func(set *hcl.Toolset) bool { return set.HasTool(name) }) {
			return false
		}
	}
	return len(tools) > 0
}

// checkPart checks the tools that an agent lists together.
func (c *checker) checkPart(what string, at diag.Range, tokens, tools int, counted bool) {
	if tokens > c.opts.MaxTokens {
		c.report("budget", diag.Error, at, "Many tokens", fmt.Sprintf(
			"%s takes ≈ %d tokens of each agent that lists its tools; at most %d are accepted. Serve parts of it as "+
				"toolsets, or accept more with --max-tokens.", what, tokens, c.opts.MaxTokens))
	}
	if counted && tools > maxRequestTools {
		c.reportClient(at, limitTools, fmt.Sprintf("%d", tools))
	}
	if counted && tools > maxTools {
		c.report("budget", diag.Error, at, "Many tools", fmt.Sprintf(
			"%s has %d tools; models choose well among at most %d. Serve them as toolsets.", what, tools, maxTools))
	}
}

// EntriesOf returns the entries of a result of tools/list by their names.
func EntriesOf(list []byte) (map[string]Entry, error) {
	var result struct{ Tools []Entry }
	if err := json.Unmarshal(list, &result); err != nil {
		return nil, err
	}
	entries := make(map[string]Entry, len(result.Tools))
	for _, e := range result.Tools {
		var named struct{ Name string }
		if err := json.Unmarshal(e, &named); err != nil {
			return nil, err
		}
		entries[named.Name] = e
	}
	return entries, nil
}
