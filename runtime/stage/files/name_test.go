package files

import (
	"mime"
	"net/http"
	"path/filepath"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"
)

func TestCleanName(t *testing.T) {
	for name, want := range map[string]string{
		"scan.pdf": "scan.pdf", "Rechnung März.pdf": "Rechnung März.pdf", "請求書.pdf": "請求書.pdf", "no extension": "no extension",
		"": "file", ".": "file", "..": "file", "/": "file", "\\": "file", "...": "file", "   ": "file", "\x00": "file",
		"../../etc/passwd": "passwd", "/etc/passwd": "passwd", `C:\Users\a\x.doc`: "x.doc", `..\..\x`: "x", "a/b/../c": "c", "x/": "file",
		".bashrc": "bashrc", ".ssh/id_rsa": "id_rsa", "~root": "root", "-rf": "rf", "--help": "help", "a\nb.txt": "ab.txt", "a\r\nX-Evil: 1": "aX-Evil_ 1",
		"a\x00.txt": "a.txt", "\x1b[31mred.txt": "[31mred.txt", "a\u202egpj.exe": "agpj.exe", "a\u200bb": "ab", "\ufeffa": "a", "a\u2028b": "ab",
		`a"b.txt`: "a_b.txt", "a<b>|?*:.txt": "a_b_____.txt", "name. ": "name", "name...": "name", "\xff\xfe.txt": "_.txt", "CON": "CON", "a;b=c": "a;b=c", "a\tb": "ab",
	} {
		if got := CleanName(name); got != want {
			t.Errorf("%q became %q, not %q", name, got, want)
		}
	}
}

func FuzzCleanName(f *testing.F) {
	for _, name := range []string{"scan.pdf", "../x", "a\u202eb", strings.Repeat("ä", 300) + ".pdf", strings.Repeat("a", 300), "x." + strings.Repeat("p", 300), "\xff"} {
		f.Add(name)
	}
	f.Fuzz(func(t *testing.T, name string) {
		got := CleanName(name)
		switch {
		case got == "" || len(got) > maxNameLength || !utf8.ValidString(got):
			t.Errorf("%q became %q", name, got)
		case strings.ContainsAny(got, "/\\\x00\"") || got[0] == '.' || got[0] == '-' || got == "..":
			t.Errorf("%q became %q", name, got)
		case strings.ContainsFunc(got, func(r rune) bool { return unicode.IsControl(r) || unicode.In(r, unicode.Cf) }):
			t.Errorf("%q became %q", name, got)
		case CleanName(got) != got:
			t.Errorf("%q became %q, and that %q", name, got, CleanName(got))
		}
		if ext := extension(got); filepath.Base("1"+ext) != "1"+ext || len(ext) > 9 {
			t.Errorf("%q has the extension %q", got, ext)
		}
		header := mime.FormatMediaType("attachment", map[string]string{"filename": got})
		if strings.ContainsAny(header, "\r\n") || header == "" {
			t.Errorf("%q is sent as %q", got, header)
		}
		if _, params, err := mime.ParseMediaType(header); err != nil || params["filename"] != got {
			t.Errorf("%q arrives as %q, %v", got, params["filename"], err)
		}
	})
}

func TestCleanType(t *testing.T) {
	for text, want := range map[string]string{
		"application/pdf": "application/pdf", "Text/HTML; Charset=UTF-8; x=y": "text/html; charset=UTF-8", "": defaultType, "pdf": defaultType, "a/b\r\nX: y": defaultType, "text/html, text/plain": defaultType, "*/*": defaultType, "image/*": defaultType,
		"text/" + strings.Repeat("a", 300): defaultType,
	} {
		if got := CleanType(text); got != want {
			t.Errorf("%q became %q, not %q", text, got, want)
		}
		if got := CleanType(text); strings.ContainsAny(got, "\r\n") || http.CanonicalHeaderKey(got) == "" {
			t.Errorf("%q became %q", text, got)
		}
	}
}
