package examples_test

import (
	"encoding/json"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"hatchel/internal/sampletest"
)

// hostile are texts that some language, tool, or parser on the way would take for more than a text. CANARY stands for a file that must never come
// to be.
var hostile = []string{
	"", " ", "0", "null", "true", "undefined", "-", "--", "-rf", "--help", "-oProxyCommand=touch CANARY", "--output=CANARY", "-exec", "@CANARY", "!", "~root", "*", "?", "[a-z]*", "{a,b}",
	"'", `"`, "''", `""`, "'''", `\`, `\\`, `\'`, `\"`, "`", "``", "''\"\"``", `\0`, `\x41`, `\n`, `%s%n%d`, "%", "%%", "$", "$$", "$1", "$HOME", "${HOME}", "$IFS",
	"'; DROP TABLE invoices; --", "' OR '1'='1", "1; DELETE FROM invoices", "x'); DELETE FROM tickets; --", `" OR ""="`, `\' OR 1=1 -- `, "' UNION SELECT sqlite_version() --", "/* */", "-- x", "# x", "$$; DROP TABLE tickets; $$", "?", "$1::text", ":name", "@name", "%' OR '%'='", "_%_",
	"'; COPY (SELECT 1) TO PROGRAM 'touch CANARY'; --", "'; ATTACH DATABASE 'CANARY' AS x; --",
	"$(touch CANARY)", "`touch CANARY`", "; touch CANARY", "| touch CANARY", "|| touch CANARY", "&& touch CANARY", "& touch CANARY &", "\ntouch CANARY\n", "> CANARY", ">CANARY", "<(touch CANARY)", "'$(touch CANARY)'", `"$(touch CANARY)"`, `";touch CANARY;"`, "';touch CANARY;'", "x'$(touch CANARY)'x",
	"a[$(touch CANARY)]", "a[`touch CANARY`]+1", "$((a[$(touch CANARY)]))", "() { :;}; touch CANARY", "eval touch CANARY", "\\$(touch CANARY)", "system(\"touch CANARY\")",
	"../../etc/passwd", "../../../../../../../../etc/passwd", "/etc/passwd", "..", ".", "./", "../", "a/../../b", "..\\..\\x", "C:\\x", "\\\\host\\share", "file:///etc/passwd", "~/.ssh/id_rsa", ".git/config", ".hidden", "CON", "a/b/c", "//", "/",
	"%2e%2e%2f", "%2e%2e%2fCANARY", "%252e%252e%252f", "..%c0%af", "%00", "a%0d%0aX-Evil: 1", "%u002e", "x?y=z", "x#y", "x&y=z", "x;y", "x+y", "http://127.0.0.1:1/", "//evil.example/", "@evil.example/", "x:80", "[::1]",
	"=1+1", "+1+1", "-1+1", "@SUM(1)", "=cmd|' /C calc'!A0", "\t=1+1", "\r=1+1", "=HYPERLINK(\"http://evil.example\")", "a,b", "a;b", "\"a\",\"b\"", "a\"b", "'=1",
	"\r", "\n", "\r\n", "a\r\nb", "a\nb", "a\r\nSet-Cookie: x=y\r\n\r\n<html>", "\t", "\v\f\b", "a\x00b", "\x00", "\x00../x", "\x1b[31mred\x1b[0m", "\x7f", "\x01", "\u0085", "\u2028\u2029",
	"é", "e\u0301", "\u1e9b\u0323", "\u202egnp.exe", "\u200b", "\ufeff", "\ufffd", "\ufffe", "a\u0300\u0301\u0302\u0303\u0304", "اختبار", "测试", "ｆｕｌｌ", "ﬀ", "ı", "ß", "İ", "\U0001f600", "👩‍👩‍👧‍👦", "\U0010ffff", "\u00a0", "\u2215etc\u2215passwd", "\uff0e\uff0e\uff0f",
	"${input.x}", "%{if true}x%{endif}", "$${input.x}", "%%{if}", "${file(\"/etc/passwd\")}", "${secret.dsn}", "{{.}}", "{{7*7}}", "<%= 7*7 %>", "#{7*7}", "${jndi:ldap://127.0.0.1/x}",
	"<script>alert(1)</script>", "<b>&amp;</b>", "&lt;", "]]>", "<!--", `{"a":1}`, `["x"]`, `{"__proto__":{}}`, `","admin":true,"x":"`, `"}],"x":[{"`, "data: x\n\nevent: y\n\n", `{"jsonrpc":"2.0","id":1,"result":{}}`,
	strings.Repeat("A", 100_000), strings.Repeat("é", 50_000), strings.Repeat("'", 1000), strings.Repeat("(", 1000), strings.Repeat("../", 500), strings.Repeat("%25", 300) + "2e", strings.Repeat("a\n", 5000),
}

// malformed stand in JSON strings that hold no text.
var malformed = []string{`\ud800`, `a\udc00b`, `\ud83d\ud83d`, `\ud83dx`, `\udc00\ud800`, "\xff", "a\xc3", "\xed\xa0\x80", `\x41`, "\n"}

// A slot is one place of a call that takes a text of the caller's.
type slot struct {
	name, tool string
	arguments  func(text any) object
	arrived    func(t *testing.T, text string, r *reply) // where the call was served
}

// textsOfASlot is how many hostile texts a slot is sent on average when not all of them are. A text is sent through
// some of the slots of each test.
const textsOfASlot = 80

// attack sends hostile texts through every slot, and judges what the machine looks like afterwards.
func (f *folder) attack(t *testing.T, s *server, slots []slot) {
	before := f.surroundings()
	canary := filepath.Join(filepath.Dir(f.path), "canary")
	type attempt struct {
		*slot

		text string
	}
	var attempts []attempt
	for i := range slots {
		for _, text := range hostile {
			attempts = append(attempts, attempt{&slots[i], strings.ReplaceAll(text, "CANARY", canary)})
		}
	}
	attempts = sampletest.Of(t, textsOfASlot*len(slots), attempts)
	served := 0
	for _, a := range attempts {
		r := s.call(a.tool, a.arguments(a.text))
		switch {
		case r.refused != "":
			t.Errorf("%s: %.200q got a protocol error: %s", a.name, a.text, r.refused)
		case !r.Failed:
			served++
			a.arrived(t, a.text, r)
		case strings.TrimSpace(r.text()) == "" || !utf8.ValidString(r.text()) || leaks(r.text()):
			t.Errorf("%s: %.200q is refused with %q", a.name, a.text, r.text())
		}
	}
	t.Logf("%d of %d texts were served", served, len(attempts))
	for _, slot := range slots {
		for _, text := range malformed {
			raw, err := json.Marshal(slot.arguments("THE TEXT"))
			if err != nil {
				t.Fatal(err)
			}
			r, err := s.send(slot.tool, []byte(strings.ReplaceAll(string(raw), "THE TEXT", text)))
			if err != nil {
				t.Errorf("%s: %q: %v", slot.name, text, err)
			} else if r.refused == "" && !r.Failed {
				t.Errorf("%s: %q was served", slot.name, text)
			}
		}
	}
	after := f.surroundings()
	for name, text := range before {
		if after[name] != text {
			t.Errorf("%s was changed", name)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(after)) {
		if strings.Contains(filepath.Base(name), "canary") {
			t.Errorf("something was executed: %s exists", name)
		}
		if _, ok := before[name]; !ok && filepath.Dir(name) != "" && !strings.HasPrefix(name, filepath.Base(f.path)+"/") {
			t.Errorf("%s was written outside of the folder", name)
		}
	}
}

// leaks reports whether a text for a model shows what is meant for nobody outside: the program's insides.
func leaks(text string) bool {
	for _, inside := range []string{"goroutine", "runtime error", "strconv.", "json: ", "sql: ", "pq: ", "SQLSTATE", "%!", "0xc0", "interface {}", "map[string]", `exec: "`, "fork/exec", "INSERT INTO", "SELECT "} {
		if strings.Contains(text, inside) && !slices.ContainsFunc(hostile, func(h string) bool { return strings.Contains(h, inside) }) {
			return true
		}
	}
	return false
}

// surroundings are the files in and around the folder, by path; the text of those that nothing may change.
func (f *folder) surroundings() map[string]string {
	f.t.Helper()
	root := filepath.Dir(f.path)
	files := map[string]string{}
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		name, _ := filepath.Rel(root, path)
		files[name] = ""
		if !strings.Contains(name, ".db") && d.Type().IsRegular() {
			src, err := os.ReadFile(path)
			files[name] = string(src)
			return err
		}
		return nil
	})
	if err != nil {
		f.t.Fatal(err)
	}
	return files
}

// same reports a text that did not arrive as it was sent.
func same(t *testing.T, where, got, want string) {
	t.Helper()
	if got != want {
		t.Errorf("%s: %.200q arrived as %.200q", where, want, got)
	}
}
