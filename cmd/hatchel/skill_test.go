package main

import (
	"os"
	"path"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"testing/fstest"

	"hatchel/adapters/all"
	"hatchel/hcl"
	"hatchel/hcl/agentskill"
	"hatchel/internal/tokens"
)

func TestReferencesOfTheSkillAreThoseOfTheDocumentation(t *testing.T) {
	files, err := makeReferences(os.DirFS("../../docs"))
	if err != nil {
		t.Fatal(err)
	}
	for name, text := range files {
		if n := tokens.Estimate(text); n > 6000 {
			t.Errorf("%s has about %d tokens", name, n)
		}
		at := filepath.Join("skill/references", name)
		if *update {
			if err := os.WriteFile(at, []byte(text), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		if got, err := os.ReadFile(at); err != nil || string(got) != text {
			t.Errorf("%s is not up to date: go test ./cmd/hatchel -run Skill -update writes it", at)
		}
	}
	if found, err := filepath.Glob("skill/references/*"); err != nil || len(found) != len(files) {
		t.Errorf("there are %d references, not %d", len(found), len(files))
	}
}

// skillLink matches the target of a link in Markdown.
var skillLink = regexp.MustCompile(`\]\(([^)\s]+)\)`)

func TestTheSkillForAuthorsIsOne(t *testing.T) {
	src, err := readSkillFile(agentskill.ManifestName)
	if err != nil {
		t.Fatal(err)
	}
	frontmatter, err := agentskill.ParseFrontmatter(src)
	if err != nil || frontmatter.Name != authorSkillName || frontmatter.AllowedTools {
		t.Errorf("%+v, %v", frontmatter, err)
	}
	if n := tokens.Estimate(string(src)); n > 2500 {
		t.Errorf("it has about %d tokens", n)
	}
	for _, file := range skillFiles() {
		text, err := readSkillFile(file)
		if err != nil || path.Ext(file) != ".md" {
			continue
		}
		for _, m := range skillLink.FindAllStringSubmatch(string(text), -1) {
			target, _, _ := strings.Cut(m[1], "#")
			if _, err := readSkillFile(path.Join(path.Dir(file), target)); err != nil && !strings.Contains(target, "://") {
				t.Errorf("%s links to %s, which does not exist", file, m[1])
			}
		}
		for _, secret := range []string{"--allow-writes", "--allow-secret-commands"} {
			if file == agentskill.ManifestName && strings.Contains(string(text), secret) {
				t.Errorf("%s tells agents to use %s", file, secret)
			}
		}
	}
}

func TestTheExamplesOfTheSkillLoad(t *testing.T) {
	for _, file := range skillFiles() {
		if path.Ext(file) != ".hcl" {
			continue
		}
		text, err := readSkillFile(file)
		if err != nil {
			t.Fatal(err)
		}
		getenv := func(string) (string, bool) { return "a secret of more than 24 characters", true }
		_, diags := hcl.Load(fstest.MapFS{"a.hcl": {Data: text}}, all.Set().Kinds(), hcl.Options{Getenv: getenv, Tests: true})
		for _, d := range diags {
			t.Errorf("%s:%d: %s: %s", file, d.Subject.Start.Line, d.Summary, d.Detail)
		}
	}
}

func TestTheSkillIsInstalledWhereProgramsLook(t *testing.T) {
	for program, want := range map[string]string{"claude-code": ".claude/skills/hatchel", "codex": ".agents/skills/hatchel",
		"cursor": ".cursor/skills/hatchel", "agents": ".agents/skills/hatchel"} {
		project := t.TempDir()
		for range 2 { // the second replaces the first
			dir, err := installSkill(program, project)
			if err != nil || dir != filepath.Join(project, want) {
				t.Fatal(dir, err)
			}
			for _, file := range skillFiles() {
				want, _ := readSkillFile(file)
				if got, err := os.ReadFile(filepath.Join(dir, file)); err != nil || string(got) != string(want) {
					t.Errorf("%s: %v", file, err)
				}
			}
		}
		other := []byte("---\nname: other\ndescription: Another one.\n---\n")
		if err := os.WriteFile(filepath.Join(project, want, "SKILL.md"), other, 0o644); err != nil {
			t.Fatal(err)
		}
		if _, err := installSkill(program, project); err == nil || !strings.Contains(err.Error(), "another skill") {
			t.Error(err)
		}
	}
}
