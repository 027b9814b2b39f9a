package source

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// listed returns the files below a directory of a skill, as a load lists them.
func listed(t testing.TB, s *Snapshot, dir, within string) (files []string) {
	t.Helper()
	entries, err := s.ListSkill(dir, within)
	must(t, err)
	for _, e := range entries {
		if name := dir + "/" + e.Name(); e.IsDir() {
			files = append(files, listed(t, s, name, within)...)
		} else {
			files = append(files, strings.TrimPrefix(name, within+"/"))
		}
	}
	return files
}

func makeFiles(t testing.TB, dir string, names ...string) {
	t.Helper()
	for _, name := range names {
		at := filepath.Join(dir, name)
		must(t, os.MkdirAll(filepath.Dir(at), 0o755))
		must(t, os.WriteFile(at, []byte(name), 0o644))
	}
}

func TestASkillHasItsOwnFilesAlone(t *testing.T) {
	outside, dir := t.TempDir(), t.TempDir()
	makeFiles(t, outside, "secret.txt", "folder/a.txt")
	makeFiles(t, dir, "token.txt", "skills/s/SKILL.md", "skills/s/.env", "skills/s/.git/config", "skills/s/drafts/a.md",
		"skills/s/references/a.md", "skills/s/references/b.draft.md", "skills/other/SKILL.md")
	must(t, os.WriteFile(filepath.Join(dir, IgnoreFile), []byte("drafts\n*.draft.md\n"), 0o644))
	for name, target := range map[string]string{
		"inside.md": "references/a.md", "folder": "references", "references/up": "..", "self": ".", "token": "../../token.txt",
		"other": "../other", "secret": filepath.Join(outside, "secret.txt"), "out": filepath.Join(outside, "folder"),
		"nothing": "none", "circle": "circle", "hidden": ".env",
	} {
		must(t, os.Symlink(target, filepath.Join(dir, "skills/s", name)))
	}
	s, err := readFolder(t.Context(), dir)
	must(t, err)
	const want = "SKILL.md folder/a.md inside.md references/a.md"
	if got := strings.Join(listed(t, s, "skills/s", "skills/s"), " "); got != want {
		t.Errorf("listed are %s, want %s", got, want)
	}
}

// A ConfigMap links each file of a volume into a folder that is swapped.
func TestASkillMayBeAConfigMap(t *testing.T) {
	dir := t.TempDir()
	makeFiles(t, dir, "a.hcl", "skills/s/..2026/SKILL.md", "skills/s/..2026/references/a.md")
	for name, target := range map[string]string{"..data": "..2026", "SKILL.md": "..data/SKILL.md", "references": "..data/references"} {
		must(t, os.Symlink(target, filepath.Join(dir, "skills/s", name)))
	}
	s, err := readFolder(t.Context(), dir)
	must(t, err)
	if got := strings.Join(listed(t, s, "skills/s", "skills/s"), " "); got != "SKILL.md references/a.md" {
		t.Errorf("listed are %s", got)
	}
	if content, err := s.ReadFile("skills/s/references/a.md"); err != nil || !strings.HasSuffix(string(content), "a.md") {
		t.Errorf("%q, %v", content, err)
	}
}

func TestAFileThatASkillGetsIsSeen(t *testing.T) {
	dir := t.TempDir()
	makeFiles(t, dir, "a.hcl", "skills/s/SKILL.md")
	changes := map[string]bool{"skills/s/new.md": true, "skills/s/references/a.md": true, "skills/s/.hidden": false, "notes.md": false}
	for name, want := range changes {
		before, err := readFolder(t.Context(), dir)
		must(t, err)
		listed(t, before, "skills/s", "skills/s")
		makeFiles(t, dir, name)
		now, err := readFolder(t.Context(), dir)
		must(t, err)
		if now.equal(before) == want {
			t.Errorf("%s: seen %t", name, !want)
		}
	}
	before, err := readFolder(t.Context(), dir)
	must(t, err)
	listed(t, before, "skills/s", "skills/s")
	must(t, os.WriteFile(filepath.Join(dir, IgnoreFile), []byte("new.md\n"), 0o644))
	now, err := readFolder(t.Context(), dir)
	must(t, err)
	if now.equal(before) {
		t.Error("a change of what is ignored is not seen")
	}
}
