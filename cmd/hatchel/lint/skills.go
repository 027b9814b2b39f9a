package lint

import (
	"fmt"
	"net/url"
	"path"
	"slices"
	"strings"
	"unicode/utf8"

	"hatchel/hcl"
	"hatchel/hcl/agentskill"
	"hatchel/hcl/diag"
	"hatchel/hcl/spelling"
	"hatchel/internal/credential"
	"hatchel/internal/lazyregexp"
	"hatchel/internal/printable"
	"hatchel/internal/tokens"
)

// maxSkillTokens is how many tokens a SKILL.md should have: hosts load it whole.
const maxSkillTokens = 5000

// skillText is a text file of a skill.
type skillText struct {
	*checker
	skill *hcl.Skill
	name  string // below the configuration directory
	text  string
}

// checkSkills checks the files of skills, which models read as instructions.
func (c *checker) checkSkills() {
	for _, s := range c.config.Skills {
		if base := path.Base(s.Directory); base != s.Name {
			const text = "The directory of the skill %q is called %s. The format wants the name of the skill, and " +
				"programs that install skills refuse another one."
			c.report("skill", diag.Error, s.Range, "Directory with another name", fmt.Sprintf(text, s.Name, base))
		}
		for _, f := range s.Content.Files {
			t := &skillText{c, s, path.Join(s.Directory, f.Path), string(f.Content)}
			if f.IsScript() {
				t.reportAt("skill", diag.Warning, 0, 0, "Script", "Hosts ask the user before they run a script of a "+
					"skill, or never run it. A tool does the same where it is confined and recorded.")
			}
			if f.IsText {
				t.check(f)
			}
		}
		c.checkManifest(s)
	}
}

// check checks a text file.
func (t *skillText) check(f *agentskill.File) {
	for i, m := range printable.Hidden(t.text) {
		if i == maxPerText {
			break
		}
		t.reportAt("hidden-text", diag.Error, m.Start, m.End, "Hidden text",
			fmt.Sprintf("It %s: %s. Remove them.", m.Why, printable.Names(t.text[m.Start:m.End])))
	}
	for i, m := range t.steering(t.text) {
		if i == maxPerText {
			break
		}
		const text = "It %s. Describe the work. If it is meant, write `# lint:allow steering` and the reason above " +
			"the block of the skill."
		t.reportAt("steering", diag.Error, m.Start, m.End, "Text that instructs models", fmt.Sprintf(text, m.Why))
	}
	find := credential.FindIssued
	if f.IsScript() {
		find = credential.FindAll
	}
	for _, m := range find(t.text) {
		t.reportAt("skill", diag.Warning, m.Start, m.End, "Literal credential",
			"This looks like "+m.Noun+", and every caller who may read the skill gets it.")
	}
	if path.Ext(f.Path) == ".md" {
		t.checkLinks(f)
	}
}

// link matches the target of a link or a picture of Markdown.
var link = lazyregexp.New(`\]\(\s*<?([^)\s>]+)`)

// checkLinks reports relative links to what the skill does not have.
func (t *skillText) checkLinks(f *agentskill.File) {
	for _, m := range link.FindAllStringSubmatchIndex(t.text, -1) {
		target := t.text[m[2]:m[3]]
		u, err := url.Parse(target)
		if err != nil || u.IsAbs() || u.Host != "" || u.Path == "" {
			continue
		}
		// links resolve against the directory with the SKILL.md; writers of Markdown often mean that of the file
		name := strings.TrimSuffix(path.Clean(u.Path), "/")
		if !t.has(name) && !t.has(path.Join(path.Dir(f.Path), name)) {
			t.reportAt("skill", diag.Error, m[2], m[3], "Link to nothing",
				fmt.Sprintf("The skill has no file %s.", name))
		}
	}
}

// has reports whether the skill has a file or a directory.
func (t *skillText) has(name string) bool {
	return name == "." || slices.ContainsFunc(t.skill.Content.Files, func(f *agentskill.File) bool {
		return f.Path == name || strings.HasPrefix(f.Path, name+"/")
	})
}

// checkManifest checks the SKILL.md.
func (c *checker) checkManifest(s *hcl.Skill) {
	f := s.Content.Manifest()
	t := &skillText{c, s, path.Join(s.Directory, f.Path), string(f.Content)}
	if n := tokens.Estimate(t.text); n > maxSkillTokens {
		const text = "It has about %d tokens, and hosts load all of it. Above %d, move details into files that it " +
			"refers to."
		t.reportAt("skill", diag.Warning, 0, 0, "Long skill", fmt.Sprintf(text, n, maxSkillTokens))
	}
	if s.Content.Frontmatter.AllowedTools {
		t.reportAt("skill", diag.Warning, 0, 0, "Ignored allowed-tools",
			"Hosts ignore allowed-tools of a skill that comes from a server. Remove it.")
	}
	t.checkToolNames()
}

// mentioned matches a name in backquotes, with the word before it.
var mentioned = lazyregexp.New("(?:([A-Za-z]+)[ \t]+(?:the[ \t]+)?)?`([a-z][a-z0-9]*(?:_[a-z0-9]+)+)`(?:[ \t]+(tool))?")

// callWords are words before the name of a tool.
var callWords = []string{"call", "calls", "run", "use", "uses", "tool", "with", "invoke"}

// checkToolNames reports names in backquotes that are those of no tool, if they are like one or stand where one would.
func (t *skillText) checkToolNames() {
	known, others := t.toolNames()
	for _, m := range mentioned.FindAllStringSubmatchIndex(t.text, -1) {
		name, before := t.text[m[4]:m[5]], ""
		if m[2] >= 0 {
			before = strings.ToLower(t.text[m[2]:m[3]])
		}
		switch near := spelling.Nearest(name, known); {
		case slices.Contains(known, name):
			t.checkToolsets(name, m[4], m[5])
		case slices.Contains(others, name):
		case near != "" || m[6] >= 0 || slices.Contains(callWords, before):
			t.reportAt("skill", diag.Warning, m[4], m[5], "Unknown tool", fmt.Sprintf("This server has no tool %q.%s",
				name, diag.SuggestOr(name, known, diag.ListAre(known))))
		}
	}
}

// toolNames returns the names of the tools, and the other names that a text may have.
func (t *skillText) toolNames() (known, others []string) {
	for _, tool := range t.config.Tools {
		known, others = append(known, tool.Name), append(others, tool.Input.MemberNames()...)
		if tool.Returns != nil {
			others = append(others, tool.Returns.MemberNames()...)
		}
	}
	for _, p := range t.config.Prompts {
		others = append(others, p.Name)
	}
	for _, r := range t.config.Resources {
		others = append(others, r.Name)
	}
	return known, others
}

// checkToolsets reports the toolsets that have the skill and not a tool that it names.
func (t *skillText) checkToolsets(tool string, start, end int) {
	for _, set := range t.config.Toolsets {
		if set.HasSkill(t.skill.Name) && !set.HasTool(tool) {
			t.reportAt("skill", diag.Warning, start, end, "Tool outside of a toolset", fmt.Sprintf(
				"The toolset %q has the skill %q, and not the tool %q.", set.Name, t.skill.Name, tool))
			return
		}
	}
}

// reportAt reports a finding in the text. A comment above the block of the skill allows it.
func (t *skillText) reportAt(rule string, severity diag.Severity, start, end int, summary, detail string) {
	at := diag.Range{File: t.name, Start: positionIn(t.text, start), End: positionIn(t.text, end)}
	d := &diag.Diagnostic{Severity: severity, Summary: summary, Detail: detail, Subject: at}
	t.found = append(t.found, Finding{rule, d, t.skill.Range})
}

// positionIn returns the position of a byte of a text.
func positionIn(text string, at int) diag.Pos {
	line := strings.LastIndexByte(text[:at], '\n') + 1
	column := 1 + utf8.RuneCountInString(text[line:at])
	return diag.Pos{Line: 1 + strings.Count(text[:at], "\n"), Column: column, Byte: at}
}
