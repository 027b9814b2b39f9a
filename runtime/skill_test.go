package runtime

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"io/fs"
	"strings"
	"testing"
	"testing/fstest"
	"testing/synctest"

	"hatchel/runtime/edge/mcp"
)

const skillsConfig = `
skill "refunds" {
  path = "acme/billing"
}
skill "limits" {
  directory = "skills/refunds/limits"
  path      = "acme/billing/refunds"
  allow     = "'board' in caller.groups"
}
skill "travel" {
  scopes = ["travel:read"]
}
resource "refunds" {
  uri         = "doc://refunds"
  description = "A resource with the name of a skill."
  text        = "x"
}
toolset "finance" { skills = ["refunds"] }
policy "finance_skills" {
  skills = ["refunds"]
  allow  = "tool.kind == 'skill' && 'finance' in caller.groups"
}
`

func skill(name, rest string) string {
	return "---\nname: " + name + "\ndescription: About " + name + ".\n" + rest + "---\n# " + name + "\n"
}

// skillFiles has a file of each form: with a byte order mark and other line ends, without a character, and no text.
func skillFiles() map[string]string {
	return map[string]string{
		"skills/refunds/SKILL.md":          "\ufeff" + skill("refunds", "metadata: {version: 1.50}\n") + "\r\n\x00\u2028</script>",
		"skills/refunds/a b?#%41.txt":      "odd",
		"skills/refunds/empty.txt":         "",
		"skills/refunds/data/logo.bin":     "\xff\x00\xfe",
		"skills/refunds/limits/SKILL.md":   skill("limits", ""),
		"skills/refunds/limits/amounts.md": "500",
		"skills/refunds/.env":              "TOKEN=hidden",
		"skills/travel/SKILL.md":           skill("travel", ""),
		"secret.txt":                       "not of a skill",
	}
}

func loadSkills(t testing.TB, h *Host, files map[string]string) {
	t.Helper()
	more := ""
	if h.build.AuditLogs != nil {
		more = "audit { file = \"audit.jsonl\" }\n"
	}
	fsys := fstest.MapFS{"a.hcl": {Data: []byte(skillsConfig + more)}}
	for name, content := range files {
		fsys[name] = &fstest.MapFile{Data: []byte(content)}
	}
	fsys["skills/refunds/link.txt"] = &fstest.MapFile{Data: []byte("../../secret.txt"), Mode: fs.ModeSymlink}
	if diags := h.Load(t.Context(), fsys); diags.HasErrors() {
		t.Fatalf("load: %s", printDiagnostics(diags))
	}
}

type skillEntry struct {
	URI         string
	Frontmatter map[string]any
	Resources   []struct {
		URI, Digest string
		Size        int
	}
}

func skillsOf(t testing.TB, h *Host, c *mcp.Caller) (skills []skillEntry) {
	t.Helper()
	var result struct{ Skills []skillEntry }
	text := h.List(t.Context(), c, mcp.Skills).AppendResult(nil, mcp.Revision20260728)
	if err := json.Unmarshal(text, &result); err != nil {
		t.Fatalf("%v in %s", err, text)
	}
	return result.Skills
}

func fileOf(t testing.TB, h *Host, c *mcp.Caller, uri string) (content []byte, failed error) {
	t.Helper()
	d, err := h.ReadResource(t.Context(), &mcp.CallRequest{Name: uri, Caller: c})
	if err != nil {
		return nil, err
	}
	var result struct {
		Contents []struct {
			URI, MimeType string
			Text          *string
			Blob          []byte
		}
	}
	if err := json.Unmarshal(append(d.Members.AppendJSON([]byte{'{'}), '}'), &result); err != nil {
		t.Fatal(err)
	}
	if one := result.Contents[0]; one.Text != nil {
		return []byte(*one.Text), nil
	}
	return result.Contents[0].Blob, nil
}

// The digests of the list are those of the bytes that are read, and of the files.
func TestEachFileOfASkillIsReadAsItsDigestSays(t *testing.T) {
	h := newHost(t, "")
	files := skillFiles()
	loadSkills(t, h, files)
	read := 0
	caller := callerOf("ada", "finance", "board")
	caller.Identity.Scopes = []string{"travel:read"}
	for _, s := range skillsOf(t, h, caller) {
		one, err := h.Skill(t.Context(), caller, s.URI)
		if err != nil || !strings.Contains(string(one.Entry), s.Resources[0].Digest) {
			t.Errorf("skills/get %s: %s, %v", s.URI, one.Entry, err)
		}
		for _, r := range s.Resources {
			content, err := fileOf(t, h, caller, r.URI)
			sum := sha256.Sum256(content)
			if err != nil || "sha256:"+hex.EncodeToString(sum[:]) != r.Digest || len(content) != r.Size {
				t.Errorf("%s: %q, %v", r.URI, content, err)
			}
			read++
		}
	}
	if read != 9 { // those of limits also belong to refunds
		t.Errorf("%d files were read", read)
	}
	odd, err := fileOf(t, h, caller, "skill://acme/billing/refunds/a%20b%3F%23%2541.txt")
	if string(odd) != files["skills/refunds/a b?#%41.txt"] || err != nil {
		t.Errorf("%q, %v", odd, err)
	}
}

func TestOnlyWhatASkillPublishesIsRead(t *testing.T) {
	h := newHost(t, "")
	loadSkills(t, h, skillFiles())
	const root = "skill://acme/billing/refunds"
	for _, uri := range []string{
		root, root + "/", root + "/.env", root + "/link.txt", root + "/data", root + "/../../../secret.txt",
		root + "/%2e%2e/%2e%2e/secret.txt", root + "/..%2f..%2fsecret.txt", root + "//SKILL.md", root + "/SKILL.md/",
		root + "/SKILL.md?x", root + "/skill.md", root + "/%zz", "skill://refunds/SKILL.md", "skill:///etc/passwd",
		"skill://acme/billing/SKILL.md",
	} {
		if content, err := fileOf(t, h, callerOf("ada", "finance"), uri); err == nil || !mcp.IsUnknown(err) {
			t.Errorf("%s: %q, %v", uri, content, err)
		}
	}
}

func TestRulesDecideWhoReadsASkill(t *testing.T) {
	h := newHost(t, "")
	loadSkills(t, h, skillFiles())
	inside := callerOf("ada", "finance")
	inside.Toolset = "finance"
	for name, c := range map[string]struct {
		caller       *mcp.Caller
		skills       string // that are listed
		read, denied []string
	}{
		"everybody": {callerOf("eve"), "travel", nil, []string{"acme/billing/refunds/SKILL.md", "acme/billing/refunds/limits/SKILL.md"}},
		"finance": {callerOf("ada", "finance"), "acme/billing/refunds travel", []string{"acme/billing/refunds/SKILL.md"},
			[]string{"acme/billing/refunds/limits/SKILL.md", "acme/billing/refunds/limits/amounts.md", "travel/SKILL.md"}},
		"board": {callerOf("bob", "board"), "acme/billing/refunds/limits travel", []string{"acme/billing/refunds/limits/amounts.md"},
			[]string{"acme/billing/refunds/SKILL.md"}},
		"in a toolset": {inside, "acme/billing/refunds", []string{"acme/billing/refunds/data/logo.bin"}, []string{"travel/SKILL.md"}},
	} {
		var listed []string
		for _, s := range skillsOf(t, h, c.caller) {
			listed = append(listed, strings.TrimSuffix(strings.TrimPrefix(s.URI, "skill://"), "/SKILL.md"))
		}
		if got := strings.Join(listed, " "); got != c.skills {
			t.Errorf("%s sees %q", name, got)
		}
		for _, file := range c.read {
			if _, err := fileOf(t, h, c.caller, "skill://"+file); err != nil {
				t.Errorf("%s: %s: %v", name, file, err)
			}
		}
		for _, file := range c.denied {
			if content, err := fileOf(t, h, c.caller, "skill://"+file); err == nil {
				t.Errorf("%s reads %s: %s", name, file, content)
			}
			if root, ok := strings.CutSuffix(file, "/SKILL.md"); ok && !strings.Contains(c.skills, root) {
				_, one := h.Skill(t.Context(), c.caller, "skill://"+file)
				_, dir := h.Directory(t.Context(), c.caller, "skill://"+root)
				if one == nil || one.Error() != "No skill is served at skill://"+file+" (-32602)" {
					t.Errorf("%s: skills/get of %s: %v", name, file, one)
				}
				if dir == nil || dir.Error() != "skill://"+root+" is not a directory (-32602)" {
					t.Errorf("%s: directory of %s: %v", name, root, dir)
				}
			}
		}
	}
	list := string(h.List(t.Context(), callerOf("eve"), mcp.Resources).AppendResult(nil, mcp.Revision20251125))
	if strings.Contains(list, "acme") || !strings.Contains(list, `{"name":"travel","uri":"skill://travel/SKILL.md"`) ||
		!strings.Contains(list, "doc://refunds") {
		t.Errorf("the list of resources of eve is %s", list)
	}
}

func TestDirectoriesOfASkillAreListed(t *testing.T) {
	h := newHost(t, "")
	loadSkills(t, h, skillFiles())
	caller := callerOf("ada", "finance", "board")
	for uri, want := range map[string]string{
		"skill://acme/billing/refunds":          "SKILL.md a b?#%41.txt data empty.txt limits",
		"skill://acme/billing/refunds/data":     "logo.bin",
		"skill://acme/billing/refunds/limits":   "SKILL.md amounts.md",
		"skill://acme/billing/refunds/":         "",
		"skill://acme/billing/refunds/SKILL.md": "",
		"skill://acme/billing":                  "",
		"skill://acme/billing/refunds/..":       "",
	} {
		list, err := h.Directory(t.Context(), caller, uri)
		got := ""
		if err == nil {
			got = strings.Join(list.Names(), " ")
		}
		if got != want {
			t.Errorf("%s has %q, %v", uri, got, err)
		}
	}
	list, _ := h.Directory(t.Context(), caller, "skill://acme/billing/refunds")
	if got := string(list.AppendResult(nil, mcp.Revision20260728)); !strings.Contains(got,
		`{"uri":"skill://acme/billing/refunds/data","name":"data","mimeType":"inode/directory"}`) ||
		!strings.Contains(got, `"ttlMs":0,"cacheScope":"private"`) {
		t.Errorf("the directory is %s", got)
	}
}

func TestAChangedFileOfASkillIsAReload(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := newRecordingNotifier()
		h := newHost(t, "")
		files := skillFiles()
		loadSkills(t, h, files)
		h.SetNotifier(e)
		caller := callerOf("ada", "finance", "board")
		const uri = "skill://acme/billing/refunds/empty.txt"
		before := skillsOf(t, h, caller)[0].Resources
		if err := h.SubscribeResource(t.Context(), caller, uri); err != nil {
			t.Fatal(err)
		}
		files["skills/refunds/empty.txt"] = "full"
		loadSkills(t, h, files)
		e.expect(t, `"" {false false true}`, uri)
		content, err := fileOf(t, h, caller, uri)
		if string(content) != "full" || err != nil {
			t.Errorf("%q, %v", content, err)
		}
		if after := skillsOf(t, h, caller)[0].Resources; after[3].Digest == before[3].Digest || after[0] != before[0] {
			t.Errorf("the digests were %v and are %v", before, after)
		}
		h.UnsubscribeResource(caller, uri)
	})
}

func TestReadsOfSkillsAreRecorded(t *testing.T) {
	h, path := newAuditedHost(t, "")
	loadSkills(t, h, skillFiles())
	fileOf(t, h, callerOf("ada", "finance"), "skill://acme/billing/refunds/empty.txt")
	fileOf(t, h, callerOf("eve"), "skill://acme/billing/refunds/SKILL.md")
	fileOf(t, h, callerOf("ada", "finance"), "skill://acme/billing/refunds/none.txt")
	var got []string
	for _, r := range readRecords(t, path) {
		if r.Event == "call" {
			got = append(got, strings.Join([]string{r.Kind, r.Name, r.URI, r.Outcome, r.Rule}, " "))
		}
	}
	want := []string{
		"skill refunds skill://acme/billing/refunds/empty.txt ok policy.finance_skills.allow",
		"skill refunds skill://acme/billing/refunds/SKILL.md refused policy.finance_skills.allow",
		"resource  skill://acme/billing/refunds/none.txt refused ",
	}
	if strings.Join(got, "\n") != strings.Join(want, "\n") {
		t.Errorf("recorded are\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

func TestASecretInASkillIsRefused(t *testing.T) {
	h := newHost(t, "")
	fsys := fstest.MapFS{
		"a.hcl": {Data: []byte(`secret "token" { env = "OPS" }
			auth {
			  api_key "ops" { secret = secret.token }
			}
			skill "s" {}`)},
		"skills/s/SKILL.md": {Data: []byte(skill("s", "") + "Use MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw.")},
	}
	if got := printDiagnostics(h.Load(t.Context(), fsys)); !strings.Contains(got, "Secret in a skill") ||
		!strings.Contains(got, "skills/s/SKILL.md has the value of a secret") || strings.Contains(got, "MfKQ9r8") {
		t.Error(got)
	}
}
