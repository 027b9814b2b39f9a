package main

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

func TestTheBrowserIsThatOfTheUserOrTheDesktop(t *testing.T) {
	const address = "https://tools.example/?a=b&c=%20"
	for _, c := range []struct {
		browser, display string
		want             []string
	}{
		{"", "", nil},
		{"", ":0", []string{"xdg-open", address}},
		{"firefox", "", []string{"firefox", address}},
		{"firefox -P work:chromium", ":0", []string{"firefox", "-P", "work", address}},
		{"open %s now", "", []string{"open", address, "now"}},
		{"open --url=%s", "", []string{"open", "--url=" + address}},
		{"  ", "", nil},
	} {
		t.Setenv("BROWSER", c.browser)
		t.Setenv("DISPLAY", c.display)
		t.Setenv("WAYLAND_DISPLAY", "")
		if got := browserCommand(address); !slices.Equal(got, c.want) {
			t.Errorf("%q, %q: %q", c.browser, c.display, got)
		}
	}
}

func TestABrowserThatFailsIsNone(t *testing.T) {
	program := filepath.Join(t.TempDir(), "browser")
	opened := filepath.Join(t.TempDir(), "opened")
	if err := os.WriteFile(program, []byte("#!/bin/sh\necho \"$1\" >"+opened+"\nexit $CODE\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	t.Setenv("BROWSER", program)
	for code, want := range map[string]bool{"0": true, "1": false} {
		t.Setenv("CODE", code)
		if got := openBrowser(t.Context(), "https://tools.example/$(id)"); got != want {
			t.Errorf("exit code %s: %t", code, got)
		}
	}
	if text, err := os.ReadFile(opened); err != nil || strings.TrimSpace(string(text)) != "https://tools.example/$(id)" {
		t.Errorf("%q, %v", text, err)
	}
	t.Setenv("BROWSER", filepath.Join(t.TempDir(), "none"))
	if openBrowser(t.Context(), "https://tools.example") {
		t.Error("a browser that does not exist was opened")
	}
}
