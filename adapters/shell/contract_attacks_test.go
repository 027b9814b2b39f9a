package shell

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"
)

// Each sentence of docs/sandbox.md about modes, groups and times that speaks of an unusual program has one here.
func TestConfinedUnusualProgramsChangeNoFile(t *testing.T) {
	if runtime.GOARCH != "amd64" { // whose numbers the scripts have
		return
	}
	const own = `open(F, "+>", "$ENV{TMPDIR}/x") or die; chmod 0600, "$ENV{TMPDIR}/x"; `
	for name, c := range map[string]struct{ perl, want string }{
		"a file without a name keeps its mode": {own + `unlink "$ENV{TMPDIR}/x"; print chmod(0666, *F) ? "done" : "refused"; ` +
			`printf " %o", (stat F)[2] & 07777`, "refused 600"},
		"a group that is not its own": {own + `$) = "65533 65533"; $( = 65533; $> = $< = 65533; ` +
			`print chown(-1, 12345, *F) ? "done" : "refused"`, "refused"},
		"a setuid bit":  {own + `print chmod(04700, *F) ? "done" : "refused"; printf " %o", (stat F)[2] & 07777`, "refused 600"},
		"another owner": {own + `print chown(12345, -1, *F) ? "done" : "refused"`, "refused"},
	} {
		t.Run(name, func(t *testing.T) {
			if got := runScript(t, "perl -e '"+c.perl+"'", ""); got != c.want {
				t.Errorf("%q", got)
			}
		})
	}
}

// A program that cannot be inspected may fail where it could otherwise succeed, and never the other way round.
func TestConfinedProgramThatCannotBeInspectedChangesNoReadableFile(t *testing.T) {
	if runtime.GOARCH != "amd64" {
		return
	}
	name, before := newOwnedFile(t)
	for call, text := range attrCalls {
		script := fmt.Sprintf(`perl -e '$f = "%s"; $e = ""; $g = $) + 0; $t = pack("q4", 1, 0, 1, 0); open(F, "<", $f) or die; `+
			`syscall(157, 4, 0) == 0 or die; print %s == -1 ? "refused" : "done"'`, name, text)
		got := runScript(t, script, fmt.Sprintf("sandbox { read = [%q] }", filepath.Dir(name)))
		now, err := os.Stat(name)
		if err != nil || now.Mode() != before.Mode() || !now.ModTime().Equal(before.ModTime()) || got != "refused" {
			t.Errorf("%s: %q, %v, %v", call, got, now, err)
		}
	}
}

// touch of a file that is open for reading sets the current time, and no other one.
func TestConfinedTouchOfAnOpenFileSetsTheCurrentTime(t *testing.T) {
	if runtime.GOARCH != "amd64" {
		return
	}
	name, _ := newOwnedFile(t)
	script := fmt.Sprintf(`perl -e 'open(F, "<", "%s") or die; print syscall(280, fileno(F), 0, 0, 0) == 0 ? "done" : "refused"'`, name)
	got := runScript(t, script, fmt.Sprintf("sandbox { read = [%q] }", filepath.Dir(name)))
	now, err := os.Stat(name)
	if got != "done" || err != nil || time.Since(now.ModTime()) > time.Minute {
		t.Errorf("%q, %v, %v", got, now, err)
	}
}

// The kernel tells what docs/sandbox.md says that it tells: name, size and mode, and nothing of the content.
func TestConfinedProgramSeesTheSizeOfAnotherFileAndNotItsContent(t *testing.T) {
	name, _ := newOwnedFile(t)
	if got := runScript(t, "stat -c '%s %a' "+name+"; cat "+name+" 2>&1 || true", ""); !strings.HasPrefix(got, "4 600\n") ||
		!strings.Contains(got, "ermission denied") {
		t.Errorf("%q", got)
	}
}
