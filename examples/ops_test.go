package examples_test

import (
	"os/exec"
	"slices"
	"strings"
	"testing"
)

func ops(t *testing.T) *folder {
	t.Helper()
	f := example(t, "ops")
	f.args = []string{"--var", "repo_dir=."}
	f.git("init", "-q")
	f.git("add", "ops.hcl")
	f.git("commit", "-q", "-m", "Tools of the day")
	f.git("add", "logs")
	f.git("commit", "-q", "-m", "A log", "--author", "Kim Doe <kim@example.org>")
	return f
}

func (f *folder) git(args ...string) {
	f.t.Helper()
	cmd := exec.Command("git", args...)
	cmd.Dir = f.path
	cmd.Env = append(f.command().Env, "GIT_AUTHOR_NAME=Ola Nord", "GIT_AUTHOR_EMAIL=ola@example.org", "GIT_COMMITTER_NAME=Ola Nord",
		"GIT_COMMITTER_EMAIL=ola@example.org", "GIT_AUTHOR_DATE=2026-11-20T08:00:00Z", "GIT_COMMITTER_DATE=2026-11-20T08:00:00Z", "GIT_CONFIG_NOSYSTEM=1")
	if out, err := cmd.CombinedOutput(); err != nil {
		f.t.Fatalf("git %q: %v\n%s", args, err, out)
	}
}

func TestDisksAreMeasured(t *testing.T) {
	t.Parallel()
	s := ops(t).serve()
	type disk struct {
		Filesystem, Use, Mount string
		KiB, Used, Available   int64
	}
	var all, root []disk
	s.call("disk_usage", object{}).into(t, &all)
	s.call("disk_usage", object{"path": "/"}).into(t, &root)
	if len(root) != 1 || root[0].Mount != "/" || root[0].KiB <= 0 || !strings.HasSuffix(root[0].Use, "%") {
		t.Errorf("the root is %+v", root)
	}
	if !slices.ContainsFunc(all, func(d disk) bool { return d.Mount == "/" }) {
		t.Errorf("all are %+v", all)
	}
	if r := s.call("disk_usage", object{"path": "/none"}); !r.Failed || !strings.Contains(r.text(), "No such file") {
		t.Errorf("a missing path reads %q", r.text())
	}
}

func TestLogsAreSearched(t *testing.T) {
	t.Parallel()
	s := ops(t).serve()
	var found struct {
		Lines []string
		Found bool
	}
	s.call("search_logs", object{"file": "app.log", "text": "warn", "ignore_case": true}).into(t, &found)
	if len(found.Lines) != 2 || !strings.HasPrefix(found.Lines[0], "3:2026-11-20T08:14:37Z WARN") || !found.Found {
		t.Errorf("found is %+v", found)
	}
	s.call("search_logs", object{"file": "app.log", "text": "20", "max": 1}).into(t, &found)
	if len(found.Lines) != 1 {
		t.Errorf("at most one is %+v", found)
	}
	s.call("search_logs", object{"file": "app.log", "text": ".*"}).into(t, &found) // literally
	if len(found.Lines) != 0 || found.Found {
		t.Errorf("found is %+v", found)
	}
	if r := s.call("search_logs", object{"file": "../ops.hcl", "text": "tool"}); !r.Failed {
		t.Errorf("a file outside of the folder reads %q", r.text())
	}
	var levels []struct {
		Level string
		Lines int
	}
	s.call("count_by_level", object{"file": "app.log"}).into(t, &levels)
	if len(levels) != 3 || levels[0].Level != "ERROR" || levels[0].Lines != 1 || levels[1].Lines != 3 {
		t.Errorf("levels are %+v", levels)
	}
	if r := s.call("count_by_level", object{"file": "none.log"}); !r.Failed || !strings.Contains(r.text(), "No such file") {
		t.Errorf("a missing file reads %q", r.text())
	}
}

func TestHistoryIsRead(t *testing.T) {
	t.Parallel()
	s := ops(t).serve()
	for _, c := range []struct {
		arguments object
		want      []string // ends of the lines
	}{
		{object{}, []string{"2026-11-20 Kim Doe: A log", "2026-11-20 Ola Nord: Tools of the day"}},
		{object{"count": 1}, []string{"2026-11-20 Kim Doe: A log"}},
		{object{"author": "Ola"}, []string{"2026-11-20 Ola Nord: Tools of the day"}},
		{object{"path": "logs"}, []string{"2026-11-20 Kim Doe: A log"}},
		{object{"author": "nobody"}, nil},
	} {
		var got []string
		s.call("git_log", c.arguments).into(t, &got)
		if !slices.EqualFunc(got, c.want, strings.HasSuffix) {
			t.Errorf("%v: %q, want %q", c.arguments, got, c.want)
		}
	}
}

func TestServicesAreAskedFor(t *testing.T) {
	t.Parallel()
	s := ops(t).serve()
	r := s.call("service_status", object{"service": "cron"})
	if status, ok := strings.CutPrefix(r.text(), "cron: "); r.Failed || !ok || !slices.Contains([]string{"active", "inactive", "unknown", "failed"}, status) {
		t.Errorf("it reads %q", r.text())
	}
	if r := s.call("service_status", object{"service": "cron; touch x"}); !r.Failed || !strings.Contains(r.text(), "service") {
		t.Errorf("an unknown service reads %q", r.text())
	}
}
