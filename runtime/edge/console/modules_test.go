package console_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestModulesHaveTheTypesThatTheyDeclare checks the modules of the pages with the compiler of TypeScript.
func TestModulesHaveTheTypesThatTheyDeclare(t *testing.T) {
	command := strings.Fields(os.Getenv("HATCHEL_TEST_TSC"))
	if len(command) == 0 {
		t.Skip("HATCHEL_TEST_TSC is not set")
	}
	modules, err := filepath.Glob("assets/*.js")
	if err != nil || len(modules) == 0 {
		t.Fatalf("%d modules: %v", len(modules), err)
	}
	command = append(command, "--noEmit", "--allowJs", "--checkJs", "--strict", "--noUnusedLocals", "--noUnusedParameters",
		"--noImplicitReturns", "--target", "es2024", "--module", "esnext", "--moduleResolution", "bundler")
	out, err := exec.CommandContext(t.Context(), command[0], append(command[1:], modules...)...).CombinedOutput()
	if err != nil {
		t.Errorf("%v:\n%s", err, out)
	}
}
