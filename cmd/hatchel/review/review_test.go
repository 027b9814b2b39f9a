package review

import (
	"bytes"
	"encoding/json"
	"html"
	"regexp"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/extension"
	goldmarkhtml "github.com/yuin/goldmark/renderer/html"

	"hatchel/hcl"
	"hatchel/hcl/diag"
	"hatchel/hcl/surface"
	"hatchel/internal/printable"
)

// hostile are texts that somebody writes into the configuration of a pull request.
var hostile = []string{
	"a | b", `a \| b`, `a \\| b`, "`", "``", "a `b` c", "```\n# heading\n```", "<script>alert(1)</script>", "<!--", "</code></td>",
	"![x](https://evil.example/?q=1)", "[click](https://evil.example)", "@octocat", "#1", "https://evil.example", "**bold** _it_",
	"one\ntwo\n\n## three", "\r\n::error::x", "::set-output name=x::y", "%0A::warning::x", "\x1b[31mred", "tab\tbar|", `\`, "`|`",
	"| --- | --- |", "a\u2028b", "$(id)", "&#64;octocat", " ", "`\\", "\\`|",
}

// hostileReport returns a report in which every text is hostile.
func hostileReport() *Report {
	d := &surface.Diff{Step: "major", Old: "1.0.0\n::error::x", New: "1.0.0\n::error::x"}
	for i, text := range hostile {
		d.Changes = append(d.Changes, surface.Change{Class: surface.Class(3 - i%4), Kind: "text", Object: "tool " + text, Place: text,
			Text: text, Range: hcl.Range{File: text + ".hcl", Start: diag.Pos{Line: 1, Column: 1}, End: diag.Pos{Line: 1, Column: 2}}})
	}
	return &Report{Diff: d, Old: "main\n@octocat", New: "`x`", NewDir: "tools", Version: "v1", Threshold: surface.Widening, HasVersion: true}
}

func written(t *testing.T, format string) string {
	t.Helper()
	var out bytes.Buffer
	if err := hostileReport().Write(&out, format); err != nil {
		t.Fatal(err)
	}
	return out.String()
}

var (
	tag  = regexp.MustCompile(`<[^>]*>`)
	cell = regexp.MustCompile(`<td><code>(.*?)</code></td>`)
)

func TestNoTextIsMarkup(t *testing.T) {
	text := written(t, "markdown")
	var out bytes.Buffer
	parser := goldmark.New(goldmark.WithExtensions(extension.GFM), goldmark.WithRendererOptions(goldmarkhtml.WithUnsafe()))
	if err := parser.Convert([]byte(text), &out); err != nil {
		t.Fatal(err)
	}
	known := strings.Fields("<h3> </h3> <table> </table> <thead> </thead> <tbody> </tbody> <tr> </tr> <th> </th> <td> </td> " +
		"<code> </code> <strong> </strong>")
	counts := map[string]int{}
	for _, found := range tag.FindAllString(out.String(), -1) {
		counts[found]++
	}
	for _, name := range known {
		delete(counts, name)
	}
	if len(counts) > 0 {
		t.Errorf("the comment has %v:\n%s", counts, text)
	}
	rows := strings.Count(out.String(), "<tr>") - 1
	if cells := strings.Count(out.String(), "<td>"); rows != len(hostile) || cells != 4*rows {
		t.Errorf("%d changes have %d rows and %d cells:\n%s", len(hostile), rows, cells, text)
	}
	shown := cell.FindAllStringSubmatch(out.String(), -1)
	for i, change := range hostile {
		want := strings.TrimSpace(strings.ReplaceAll(printable.Line(change), `\|`, `\ |`))
		if got := strings.TrimSpace(html.UnescapeString(shown[3*i+1][1])); got != want {
			t.Errorf("%q is shown as %q", want, got)
		}
	}
}

func TestNoTextBeginsACommandOfAWorkflow(t *testing.T) {
	lines := strings.Split(strings.TrimSuffix(written(t, "github"), "\n"), "\n")
	if len(lines) != len(hostile)+1 {
		t.Errorf("%d changes have %d lines", len(hostile), len(lines))
	}
	for i, line := range lines[:len(hostile)] {
		level := map[bool]string{true: "::error file=tools/", false: "::notice file=tools/"}[i%4 < 2]
		if !strings.HasPrefix(line, level) || strings.ContainsAny(line, "\r") {
			t.Errorf("%q", line)
		}
	}
	if last := lines[len(lines)-1]; strings.HasPrefix(last, "::") {
		t.Errorf("%q", last)
	}
}

func TestALogOfDifferencesSatisfiesTheSchemaOfSARIF(t *testing.T) {
	schema, err := jsonschema.NewCompiler().Compile("../sarif/testdata/sarif-2.1.0.json")
	if err != nil {
		t.Fatal(err)
	}
	doc, err := jsonschema.UnmarshalJSON(strings.NewReader(written(t, "sarif")))
	if err != nil {
		t.Fatal(err)
	}
	if err := schema.Validate(doc); err != nil {
		t.Error(err)
	}
}

func TestTextAndJSONHaveALineAndAnEntryForEachChange(t *testing.T) {
	if n := strings.Count(written(t, "text"), "\n"); n != len(hostile)+1 {
		t.Errorf("%d lines", n)
	}
	var list struct{ Changes []struct{ Place string } }
	if err := json.Unmarshal([]byte(written(t, "json")), &list); err != nil || len(list.Changes) != len(hostile) {
		t.Errorf("%v, %d entries", err, len(list.Changes))
	}
}
