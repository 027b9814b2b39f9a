package view

import (
	"os"
	"os/exec"
	"strings"
	"testing"
)

// maxApp is how many bytes an app has without the declaration of its view.
const maxApp = 48 << 10

func TestAnAppIsSmall(t *testing.T) {
	if n := len(page) + len(served().style) + len(served().script); n > maxApp {
		t.Errorf("an app has %d bytes, at most %d", n, maxApp)
	}
}

// TestTheScriptHasTheTypesThatItDeclares checks the script with the compiler of TypeScript.
func TestTheScriptHasTheTypesThatItDeclares(t *testing.T) {
	command := strings.Fields(os.Getenv("HATCHEL_TEST_TSC"))
	if len(command) == 0 {
		t.Skip("HATCHEL_TEST_TSC is not set")
	}
	command = append(command, "--noEmit", "--allowJs", "--checkJs", "--strict", "--noUnusedLocals", "--noUnusedParameters",
		"--noImplicitReturns", "--target", "es2024", "--module", "esnext", "--moduleDetection", "force", "--moduleResolution", "bundler", "assets/app.js")
	if out, err := exec.CommandContext(t.Context(), command[0], command[1:]...).CombinedOutput(); err != nil {
		t.Errorf("%v:\n%s", err, out)
	}
}

func TestANameInWordsBeginsWithALargeLetter(t *testing.T) {
	for name, want := range map[string]string{
		"opened_at": "Opened at", "id": "ID", "größe": "Größe", "überfällig": "Überfällig", "": "", "_": "_", "時刻": "時刻",
	} {
		if got := labelOf(name); got != want {
			t.Errorf("%q is shown as %q, want %q", name, got, want)
		}
	}
}
