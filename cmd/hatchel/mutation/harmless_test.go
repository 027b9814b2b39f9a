package mutation

import (
	"fmt"
	"os"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"hatchel/hcl/surface"
)

// harmless is a kind of edits after which nothing can do or reach more than before, and nobody may call more.
type harmless struct {
	name string
	at   *regexp.Regexp // what is edited, in a configuration file
	with func(found []string) string
	file string // instead: a file that is added
}

// lower returns the edit that makes the last submatch, a number, smaller by one.
func lower(found []string) string {
	n, err := strconv.Atoi(found[len(found)-1])
	if err != nil || n < 2 {
		return found[0]
	}
	return strings.TrimSuffix(found[0], found[len(found)-1]) + strconv.Itoa(n-1)
}

func add(text string) func([]string) string {
	return func(found []string) string { return found[0] + text }
}

var harmlessEdits = []harmless{
	{name: "a description", at: regexp.MustCompile(`(?m)^ +description *= "[^"\n]+`), with: add(" It says more.")},
	{name: "a title", at: regexp.MustCompile(`(?m)^ +title *= "[^"\n]+`), with: add(" of all")},
	{name: "a message", at: regexp.MustCompile(`(?m)^ +message *= "[^"\n]+`), with: add(" Ask the owner.")},
	{name: "instructions", at: regexp.MustCompile(`(?m)^ +instructions *= "[^"\n]+`), with: add(" Be brief.")},
	{name: "the description of an input", at: regexp.MustCompile(`= (string|integer|number)\("[^"\n]+`), with: add(" (short)")},
	{name: "a comment", at: regexp.MustCompile(`(?m)^tool "\w+" \{$`), with: add("\n  # reviewed")},
	{name: "an empty line", at: regexp.MustCompile(`(?m)^  [a-z_]+ += .*[^{(\[,\-<A-Z_]$`), with: add("\n")},
	{name: "a lower bound on a length", at: regexp.MustCompile(`(?m)^ +(?:input|type)\b.*max_length *= (\d+)`), with: lower},
	{name: "a lower bound on a number", at: regexp.MustCompile(`(?m)^ +(?:input|type)\b.*\bmax *= (\d+)`), with: lower},
	{name: "a text of bounded length", at: regexp.MustCompile(`type *= string\b[^(]`),
		with: func([]string) string { return "type = string(\"Text\", { max_length = 40 }) " }},
	{name: "a bounded number", at: regexp.MustCompile(`type *= integer\b[^(]`),
		with: func([]string) string { return "type = integer(\"Number\", { min = 2, max = 20 }) " }},
	{name: "a word of an enumeration less", at: regexp.MustCompile(`(?m)^( +(?:input|type)\b.*enum\()(("\w+", )+)"\w+"\)`),
		with: func(found []string) string { return found[1] + strings.TrimSuffix(found[2], ", ") + ")" }},
	{name: "a sensitive input", at: regexp.MustCompile(`(?m)^  input "\w+" \{$`), with: add("\n    sensitive = true")},
	{name: "a stricter rule", at: regexp.MustCompile(`(?m)^( +allow *= )"([^"\n]+)"$`),
		with: func(found []string) string {
			return fmt.Sprintf(`%s"(%s) and 'staff' in caller.groups"`, found[1], found[2])
		}},
	{name: "a further denial", at: regexp.MustCompile(`(?m)^( +deny *= )"([^"\n]+)"$`),
		with: func(found []string) string {
			return fmt.Sprintf(`%s"(%s) or 'guests' in caller.groups"`, found[1], found[2])
		}},
	{name: "a check", at: regexp.MustCompile(`(?m)^tool "\w+" \{$`),
		with: add("\n  check \"no guests\" { that = \"!('guests' in caller.groups)\" }")},
	{name: "a scope", at: regexp.MustCompile(`(?m)^  scopes += \[`), with: add(`"further", `)},
	{name: "a limit", at: regexp.MustCompile(`(?m)^tool "\w+" \{$`), with: add("\n  limit { rate = \"100/h\" }")},
	{name: "a lower rate", at: regexp.MustCompile(`rate *= "(\d+)/`),
		with: func(found []string) string { return lower([]string{strings.TrimSuffix(found[0], "/"), found[1]}) + "/" }},
	{name: "an approval", at: regexp.MustCompile(`(?m)^tool "\w+" \{$`), with: add("\n  approval {}")},
	{name: "a policy that denies", at: regexp.MustCompile(`\A`),
		with: func([]string) string { return "policy \"no_guests\" { deny = \"'guests' in caller.groups\" }\n" }},
	{name: "a stricter condition of a statement", at: regexp.MustCompile(`(exec += "[^"\n]*)WHERE ([^"\n]*)"`),
		with: func(found []string) string {
			if strings.Contains(found[2], " OR ") || strings.Contains(found[2], "%{") {
				return found[0]
			}
			return found[1] + "WHERE 1 = 1 AND " + found[2] + `"`
		}},
	{name: "a lower limit of rows", at: regexp.MustCompile(`LIMIT (\d+)`), with: lower},
	{name: "fewer rows", at: regexp.MustCompile(`max_rows *= (\d+)`), with: lower},
	{name: "the version", at: regexp.MustCompile(`version *= "(\d+)`), with: add("0")},
	{name: "a test", file: "test \"further\" {\n  tool = \"further\"\n}\n"},
	{name: "a local that nothing reads", file: "locals {\n  further = 1\n}\n"},
	{name: "a reference in brackets", at: regexp.MustCompile(`\binput\.([a-z_]+)\}`),
		with: func(found []string) string { return fmt.Sprintf(`input["%s"]}`, found[1]) }},
}

// edits returns each edit of a kind, alone.
func (h *harmless) edits(f *fixture) (out []*fixture) {
	if h.file != "" {
		name := "further.hcl"
		if strings.HasPrefix(h.file, "test ") {
			name = "further.test.hcl"
		}
		return []*fixture{f.with(name, h.file)}
	}
	for _, name := range f.configs() {
		text := f.files[name]
		for _, at := range h.at.FindAllStringSubmatchIndex(text, -1) {
			found := make([]string, len(at)/2)
			for i := range found {
				if at[2*i] >= 0 {
					found[i] = text[at[2*i]:at[2*i+1]]
				}
			}
			if with := h.with(found); with != found[0] {
				out = append(out, f.with(name, text[:at[0]]+with+text[at[1]:]))
			}
		}
	}
	return out
}

// declaredLocal matches the first local of a block.
var declaredLocal = regexp.MustCompile(`(?m)^ *locals \{\s*([a-z_]+) +=|^ *locals \{ ([a-z_]+) =`)

// renamedLocals returns a fixture for each local that has another name.
func renamedLocals(f *fixture) (out []*fixture) {
	for _, name := range f.configs() {
		for _, found := range declaredLocal.FindAllStringSubmatch(f.files[name], -1) {
			local := found[1] + found[2]
			read := regexp.MustCompile(`\blocal\.` + local + `\b`)
			declared := regexp.MustCompile(`(?m)(locals \{\s*)` + local + `( +=)`)
			renamed := f
			for _, file := range f.configs() {
				text := declared.ReplaceAllString(read.ReplaceAllString(f.files[file], "local.renamed"), "${1}renamed$2")
				renamed = renamed.with(file, text)
			}
			out = append(out, renamed)
		}
	}
	return out
}

// writtenDefault matches a row of the page of defaults: the name of a block, an argument and a constant.
var writtenDefault = regexp.MustCompile("(?m)^\\| \\[`(\\w+)[^`]*`\\][^|]*\\| `(\\w+)` \\| (\"[^\"]*\"|[\\w.]+|\\[[^]]*\\]) \\|$")

// maxDefaults is how many fixtures have an argument with its default written out.
const maxDefaults = 3

// writtenDefaults returns a function that writes each default of the reference into a block that does not have it.
func writtenDefaults(t *testing.T) func(f *fixture) []*fixture {
	page, err := os.ReadFile(root + "/docs/reference/defaults.md")
	if err != nil {
		t.Fatal(err)
	}
	rows := writtenDefault.FindAllStringSubmatch(string(page), -1)
	written := map[string]int{}
	return func(f *fixture) (out []*fixture) {
		for _, row := range rows {
			block, name, value := row[1], row[2], row[3]
			if written[row[0]] == maxDefaults {
				continue
			}
			if plainWord.MatchString(value) && value != "true" && value != "false" {
				value = strconv.Quote(value)
			}
			opening := regexp.MustCompile(`(?m)^ *` + block + `(?: "[^"\n]*")* \{\n[^}]*\}`)
			for _, file := range f.configs() {
				text := f.files[file]
				at := opening.FindStringIndex(text)
				if at == nil || written[row[0]] == maxDefaults || strings.Contains(text[at[0]:at[1]], name+" ") {
					continue
				}
				start := at[0] + strings.Index(text[at[0]:], "{\n") + 2
				edited := f.with(file, text[:start]+name+" = "+value+"\n"+text[start:])
				if config, _ := edited.load(); config != nil {
					written[row[0]]++
					out = append(out, edited)
				}
			}
		}
		return out
	}
}

// plainWord matches a default that is a text.
var plainWord = regexp.MustCompile(`^(\d+[a-zA-Z]\w*|[a-z]+)$`)

// maxHarmless is how many edits of a kind are made of one fixture.
const maxHarmless = 1

// TestAHarmlessEditIsNotWidening makes each kind of edits in every fixture.
func TestAHarmlessEditIsNotWidening(t *testing.T) {
	kinds := map[string]func(*fixture) []*fixture{
		"a renamed local": renamedLocals, "a written default": writtenDefaults(t),
	}
	for _, h := range harmlessEdits {
		kinds[h.name] = h.edits
	}
	all := 0
	for name, edits := range kinds {
		t.Run(name, func(t *testing.T) {
			made := 0
			for _, before := range corpus() {
				ofFixture := 0
				for _, edited := range edits(before.fixture) {
					if ofFixture == maxHarmless && !full && name != "a written default" {
						break
					}
					after := newSide(edited)
					if after == nil {
						continue
					}
					made, ofFixture = made+1, ofFixture+1
					for _, c := range after.differences(before) {
						if c.Class == surface.Widening {
							t.Errorf("%s: %s %s: %s\n%s", before.name, c.Kind, c.Place, c.Text, filesDiff(before.fixture, edited))
						}
					}
				}
			}
			if made < 1 {
				t.Error("no fixture can be edited so")
			}
			all += made
		})
	}
	if all < 200 {
		t.Errorf("%d edits are too few", all)
	}
	t.Logf("%d edits", all)
}

func filesDiff(a, b *fixture) string {
	for name := range b.files {
		if a.files[name] != b.files[name] {
			return diffOf(a.files[name], b.files[name])
		}
	}
	return ""
}
