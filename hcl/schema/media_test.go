package schema

import "testing"

func TestAFileIsWhatItSaysAndWhatItLooksLike(t *testing.T) {
	for _, test := range []struct {
		allowed           []string
		declared, sniffed string
		want              bool
	}{
		{nil, "application/x-anything", "application/octet-stream", true},
		{[]string{"application/pdf", "image/*"}, "application/pdf", "application/pdf", true},
		{[]string{"application/pdf", "image/*"}, "Application/PDF; version=1", "application/pdf", true},
		{[]string{"application/pdf"}, "application/pdf", "text/html; charset=utf-8", false},
		{[]string{"application/pdf"}, "application/pdf", "application/octet-stream", false},
		{[]string{"application/pdf"}, "text/html", "application/pdf", false},
		{[]string{"image/*"}, "image/png", "image/png", true},
		{[]string{"image/*"}, "image/png", "image/gif", true},
		{[]string{"image/*"}, "image/x-made-up", "application/octet-stream", false},
		{[]string{"image/*", "image/heic"}, "image/heic", "application/octet-stream", true},
		{[]string{"image/*"}, "image/svg+xml", "text/xml; charset=utf-8", true},
		{[]string{"image/*"}, "image/svg+xml", "text/html; charset=utf-8", false},
		{[]string{"image/*"}, "imagery/png", "image/png", false},
		{[]string{"text/*"}, "text/csv", "text/plain; charset=utf-8", true},
		{[]string{"text/csv"}, "text/csv", "application/octet-stream", false},
		{[]string{"text/csv"}, "text/csv", "text/html; charset=utf-8", false},
		{[]string{"application/json"}, "application/json", "text/plain; charset=utf-8", true},
		{[]string{"application/octet-stream"}, "application/octet-stream", "application/octet-stream", true},
		{[]string{"application/vnd.openxmlformats-officedocument.wordprocessingml.document"}, "application/vnd.openxmlformats-officedocument.wordprocessingml.document", "application/zip", true},
		{[]string{"application/vnd.openxmlformats-officedocument.wordprocessingml.document"}, "application/vnd.openxmlformats-officedocument.wordprocessingml.document", "application/pdf", false},
	} {
		if got := MediaAllowed(test.allowed, test.declared, test.sniffed); got != test.want {
			t.Errorf("of %v, %s that looks like %s: %v", test.allowed, test.declared, test.sniffed, got)
		}
	}
}

func TestAMediaPatternIsATypeOrAllOfOne(t *testing.T) {
	for pattern, want := range map[string]bool{
		"application/pdf": true, "image/*": true, "application/vnd.ms-excel": true, "pdf": false, "*": false, "*/*": false, "": false, "image/": false, "image/p*": false,
		"image/*; q=1": false, ".pdf": false, "image /png": false,
	} {
		if IsMediaPattern(pattern) != want {
			t.Errorf("%q: %v", pattern, !want)
		}
	}
}

func TestTypesOverlapWhereAFileMayBeOfBoth(t *testing.T) {
	for _, c := range []struct {
		some, others []string
		overlap      bool
	}{
		{nil, nil, true},
		{nil, []string{"image/png"}, true},
		{[]string{"image/*"}, []string{"image/png"}, true},
		{[]string{"image/*"}, []string{"text/csv", "image/*"}, true},
		{[]string{"image/png"}, []string{"image/png"}, true},
		{[]string{"image/png"}, []string{"image/pngx"}, false},
		{[]string{"image/*", "video/mp4"}, []string{"text/*", "application/pdf"}, false},
	} {
		if MediaOverlap(c.some, c.others) != c.overlap || MediaOverlap(c.others, c.some) != c.overlap {
			t.Errorf("%v and %v: want %t", c.some, c.others, c.overlap)
		}
	}
}
