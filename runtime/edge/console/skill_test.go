package console_test

import (
	"net/http"
	"strings"
	"testing"
	"testing/fstest"
)

// skillSite has two skills, one of which not everybody may read.
func skillSite(t *testing.T) *site {
	t.Helper()
	base := keysOf("ada:admin", "vera:ops") + "console { allow = \"true\" }\n" + audited
	config := base + `
skill "refunds" {}
skill "board" { allow = "caller.subject == 'ada'" }
policy "readers" {
  skills = ["*"]
  allow  = "true"
}
`
	s := newSite(t, base)
	diags := s.host.Load(t.Context(), fstest.MapFS{
		"a.hcl": {Data: []byte(config)},
		"skills/refunds/SKILL.md": {Data: []byte("---\nname: refunds\ndescription: Refund an order.\n---\n" +
			"# Refunds\n<b>bold</b> \u202e <script>alert(1)</script> [x](javascript:alert(1))\n")},
		"skills/refunds/scripts/run.sh": {Data: []byte("echo")},
		"skills/refunds/logo.png":       {Data: []byte("\xff\xfe")},
		"skills/board/SKILL.md":         {Data: []byte("---\nname: board\ndescription: For the board.\n---\nAgenda")},
	})
	if diags.HasErrors() {
		t.Fatal(diags[0].Summary, diags[0].Detail)
	}
	return s
}

func TestSkillsAreShownWithTheirFiles(t *testing.T) {
	s := skillSite(t)
	vera, ada := s.signedIn("vera"), s.signedIn("ada")
	list := vera.get("/console/skills")
	if got := textOf(list.find("documents")); !containsAll(got, "refunds", "skill://refunds/SKILL.md", "Refund an order.", "board", "a.hcl:") {
		t.Errorf("the list has %q", got)
	}
	if menu := textOf(list.find("menu")); !strings.Contains(menu, "Skills") {
		t.Errorf("the menu has %q", menu)
	}
	page := vera.get("/console/skills/refunds")
	if got := textOf(page.find("files")); !containsAll(got, "SKILL.md", "text/markdown", "logo.png", "scripts/run.sh", "script", "sha256:") {
		t.Errorf("the files are %q", got)
	}
	if got := textOf(page.find("skill-text")); !containsAll(got, "# Refunds", "<b>bold</b>", `\u202e`, "<script>alert(1)</script>") {
		t.Errorf("the text is %q", got)
	}
	if got := textOf(page.find("schema")); !containsAll(got, `"frontmatter"`, `"digest"`) || page.find("try") != nil {
		t.Errorf("the entry is %q", got)
	}
	if got := textOf(vera.get("/console/skills/refunds?file=scripts/run.sh").find("skill-text")); got != "echo" {
		t.Errorf("the script is %q", got)
	}
	if got := textOf(vera.get("/console/skills/refunds?file=logo.png").find("skill-refused")); got != "The file is not a text." {
		t.Errorf("the picture is %q", got)
	}
	if got := textOf(vera.get("/console/skills/board").find("skill-refused")); got != "You may not read the files of this skill." {
		t.Errorf("vera reads %q", got)
	}
	if got := textOf(ada.get("/console/skills/board").find("skill-text")); !strings.Contains(got, "Agenda") {
		t.Errorf("ada reads %q", got)
	}
	for _, path := range []string{"/console/skills/none", "/console/skills/refunds?file=../board/SKILL.md", "/console/skills/refunds?file=none"} {
		if got := vera.get(path); got.status != http.StatusNotFound {
			t.Errorf("%s: %d", path, got.status)
		}
	}
	if got := textOf(ada.get("/console/policies/skill/board").find("content")); !containsAll(got, "skill.board.allow", "policy.readers.allow") {
		t.Errorf("the rules of board are %q", got)
	}
}
