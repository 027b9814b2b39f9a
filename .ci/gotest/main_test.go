package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

const events = `{"Action":"start","Package":"m/a"}
{"Action":"run","Package":"m/a","Test":"TestOne"}
{"Action":"output","Package":"m/a","Test":"TestOne","Output":"=== RUN   TestOne\n"}
{"Action":"output","Package":"m/a","Test":"TestOne","Output":"    a_test.go:1: noise\n"}
{"Action":"pass","Package":"m/a","Test":"TestOne","Elapsed":1.5}
{"Action":"output","Package":"m/a","Output":"PASS\n"}
{"Action":"output","Package":"m/a","Output":"ok  \tm/a\t1.6s\tcoverage: 4.0% of statements in m/a, m/b\n"}
{"Action":"run","Package":"m/b","Test":"TestTwo/part"}
{"Action":"output","Package":"m/b","Test":"TestTwo/part","Output":"    b_test.go:2: it is wrong\n"}
{"Action":"fail","Package":"m/b","Test":"TestTwo/part","Elapsed":2}
{"Action":"output","Package":"m/b","Test":"TestTwo","Output":"--- FAIL: TestTwo (2.50s)\n"}
{"Action":"fail","Package":"m/b","Test":"TestTwo","Elapsed":2.5}
{"Action":"output","Package":"m/b","Test":"TestThree","Output":"panic: it has taken too long\n"}
{"Action":"pass","Package":"m/a","Elapsed":1.6}
{"Action":"output","Package":"m/b","Output":"FAIL\tm/b\t3.0s\n"}
{"Action":"fail","Package":"m/b","Elapsed":3}
{"ImportPath":"m/c","Action":"build-output","Output":"c.go:1:1: undefined: d\n"}
{"Action":"output","Package":"m/c","Output":"FAIL\tm/c [build failed]\n"}
{"Action":"fail","Package":"m/c","Elapsed":0,"FailedBuild":"m/c"}
{"Action":"output","Package":"m/d","Output":"?   \tm/d\t[no test files]\n"}
{"Action":"skip","Package":"m/d","Elapsed":0}
go: an error of its own
`

func TestFailuresArePrintedInFullAndSuccessInALine(t *testing.T) {
	var out, times strings.Builder
	if err := report(strings.NewReader(events), &out, &times); err != nil {
		t.Fatal(err)
	}
	const wantOut = "ok  \tm/a\t1.6s\n" +
		"    b_test.go:2: it is wrong\n--- FAIL: TestTwo (2.50s)\npanic: it has taken too long\nFAIL\tm/b\t3.0s\n" +
		"c.go:1:1: undefined: d\nFAIL\tm/c [build failed]\ngo: an error of its own\n"
	if out.String() != wantOut {
		t.Errorf("it prints\n%s\nwant\n%s", out.String(), wantOut)
	}
	if want := "1.50 m/a TestOne\n2.50 m/b TestTwo\n"; times.String() != want {
		t.Errorf("the times are\n%s\nwant\n%s", times.String(), want)
	}
}

// TestNoTemporaryFileIsLeft runs a test that ends without removing what it has made.
func TestNoTemporaryFileIsLeft(t *testing.T) {
	module, temp := t.TempDir(), t.TempDir()
	const leaks = `package m

import ("os"; "path/filepath"; "testing")

func TestKilled(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "read-only", "dir")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(filepath.Dir(dir), 0o500); err != nil {
		t.Fatal(err)
	}
	os.Exit(1)
}
`
	for name, text := range map[string]string{"go.mod": "module m\n", "m_test.go": leaks} {
		if err := os.WriteFile(filepath.Join(module, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	t.Chdir(module)
	t.Setenv("TMPDIR", temp)
	if err := run(filepath.Join(module, "times"), []string{"."}); err == nil {
		t.Error("the test has not failed")
	}
	if left, err := os.ReadDir(temp); err != nil || len(left) > 0 {
		t.Errorf("%v are left, %v", left, err)
	}
}

func TestTheSlowestTestsAreNamed(t *testing.T) {
	file := filepath.Join(t.TempDir(), "times")
	lines := "10.00 m/a TestTen\n2.00 m/a TestTwo\n" + strings.Repeat("1.00 m/a TestOne\n", 8) + "0.50 m/a TestHalf\n"
	if err := os.WriteFile(file, []byte(lines), 0o600); err != nil {
		t.Fatal(err)
	}
	var out strings.Builder
	if err := printSlowest(&out, file); err != nil {
		t.Fatal(err)
	}
	got := strings.Split(strings.TrimSpace(out.String()), "\n")
	if len(got) != 11 || got[1] != "  10.00 m/a TestTen" || got[2] != "  2.00 m/a TestTwo" || strings.Contains(out.String(), "TestHalf") {
		t.Errorf("it prints\n%s", out.String())
	}
}
