package surface_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"hatchel/hcl/surface"
)

func TestFilesThatTheCommandOfASecretMayReadAreInTheLock(t *testing.T) {
	files := map[string]string{
		"a.hcl": "secret \"k\" { command = [\"./get.sh\", \"shop\"] }\n", "get.sh": "#!/bin/sh\n. ./lib.sh\n", "lib.sh": "date\n",
		"notes.md": "Notes.",
	}
	before := surfaceOf(t, files)
	for name, want := range map[string]bool{"get.sh": true, "lib.sh": true, "notes.md": false} {
		changed := maps.Clone(files)
		changed[name] += "id\n"
		if got := len(surface.Compare(before, surfaceOf(t, changed)).Changes) > 0; got != want {
			t.Errorf("a change of %s is seen: %t", name, got)
		}
	}
}

// TestFilesThatProgramsMayReadAreInTheLock changes one file after the other: those that a tool may read change what it
// does, and the others do not.
func TestFilesThatProgramsMayReadAreInTheLock(t *testing.T) {
	files := map[string]string{
		"prog.awk": "{ print }", "q.jq": ".a", "edit.sed": "p", "tools/report.py": "import helper\n", "tools/helper.py": "x = 1",
		"Makefile": "include rules.mk\nall:\n", "rules.mk": "x:\n", "s.sh": "#!/bin/sh\n. ./lib.sh\n", "lib.sh": ". ./inner.sh\n",
		"inner.sh": "date", "app.js": "require('./part')", "part.js": "1", "data/a.csv": "1,2", "data/log.jsonl": "{}",
		"work/run": "echo", "work/deep/conf.ini": "a", "notes.md": "Notes.", "unused.py": "1",
	}
	for block, want := range map[string]string{
		`command = ["awk", "--file=prog.awk", "/etc/passwd"]`:                               "prog.awk",
		`command = ["awk", "-f", "prog.awk", "/etc/passwd"]`:                                "prog.awk",
		`command = ["jq", "--from-file=q.jq", "/etc/passwd"]`:                               "q.jq",
		`command = ["jq", "-fq.jq", "/etc/passwd"]`:                                         "q.jq",
		`pipe = [["cat", "/etc/passwd"], ["sed", "-f", "edit.sed"]]`:                        "edit.sed",
		`command = ["python3", "-m", "tools.report"]`:                                       "tools/helper.py tools/report.py",
		`command = ["python3", "tools/report.py"]`:                                          "tools/helper.py tools/report.py",
		`command = ["make", "all"]`:                                                         "Makefile rules.mk",
		`command = ["make", "-C", "work"]`:                                                  "Makefile rules.mk work/deep/conf.ini",
		`command = ["node", "app"]`:                                                         "app.js part.js",
		`script_file = "s.sh"`:                                                              "inner.sh lib.sh s.sh",
		`script = ". ./lib.sh"`:                                                             "inner.sh lib.sh",
		"command = [\"sh\"]\n    stdin = \". ./lib.sh\"":                                    "inner.sh lib.sh",
		"command = [\"sh\", \"-c\", \"date\"]\n    dir = \"work\"":                          "work/deep/conf.ini",
		"command = [\"sh\", \"-c\", \"date\"]\n    sandbox { read = [\"data\"] }":           "",
		"command = [\"cat\", \"notes.md\"]\n    sandbox { write = [\"notes.md\"] }":         "",
		"command = [\"sh\", \"s.sh\"]\n    sandbox { write = [\".\"] }":                     "inner.sh lib.sh s.sh",
		"command = [\"sh\", \"-c\", \"date\"]\n    sandbox { read = [\"notes.md\"] }":       "notes.md",
		"command = [\"sh\", \"-c\", \"date\"]\n    env = { INIT = \"lib.sh\" }":             "inner.sh lib.sh",
		"command = [\"sh\", \"-c\", \"$HOME\"]\n    sandbox { read = [\"tools/../q.jq\"] }": "q.jq",
		"command = [\"sh\", \"-c\", \"date\"]\n    sandbox { mode = \"none\" }": "Makefile app.js edit.sed inner.sh lib.sh part.js prog.awk q.jq " +
			"rules.mk s.sh tools/helper.py tools/report.py unused.py work/deep/conf.ini",
		`command = ["date"]`: "",
	} {
		all := maps.Clone(files)
		all["a.hcl"] = fmt.Sprintf("tool \"t\" {\n  description = \"Does it.\"\n  shell {\n    %s\n  }\n}\n", block)
		before := surfaceOf(t, all)
		var read []string
		for _, name := range slices.Sorted(maps.Keys(files)) {
			changed := maps.Clone(all)
			changed[name] += "\n# changed"
			if len(surface.Compare(before, surfaceOf(t, changed)).Changes) > 0 {
				read = append(read, name)
			}
		}
		if got := strings.Join(read, " "); got != want {
			t.Errorf("%s reads %q, not %q", block, got, want)
		}
	}
}
