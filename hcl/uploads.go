package hcl

import (
	"slices"
	"strings"
	"time"

	"hatchel/hcl/decode"
	"hatchel/hcl/schema"
	"hatchel/internal/hostname"
)

// Files is the files block: the limits of uploads.
type Files struct {
	MaxSize decode.Size   // of one file
	Types   []string      // media types, as in "image/*"; nil for all
	TTL     time.Duration // retention of a file
	BaseURL string        // public URL of the server, without a trailing /; empty if not declared
	Range   Range         // zero for no block

	uploadURL string // upload URL; empty with an empty BaseURL
}

const (
	defaultMaxUpload = 32 << 20
	maxUpload        = 256 << 20
	minUpload        = 1 << 10
	defaultUploadTTL = 24 * time.Hour
	minUploadTTL     = time.Minute
	maxUploadTTL     = 30 * 24 * time.Hour
)

func (f *Files) spec() decode.Spec {
	f.MaxSize, f.TTL = defaultMaxUpload, defaultUploadTTL
	return decode.Spec{
		decode.Attr(&f.MaxSize, "max_size",
			"The maximum size of a file. An input may set a lower max_size.").DefaultDoc("32MiB").Check(f.checkMaxSize),
		decode.StringSet(&f.Types, "types", "list of strings",
			"The accepted media types, as in [\"application/pdf\", \"image/*\"]. Both the declared type and "+
				"the type detected from the bytes must match. By default all types are accepted.",
			checkMediaType).Check(f.checkTypes),
		decode.Attr(&f.TTL, "ttl", "How long a file is kept after its upload.").DefaultDoc("24h").Check(f.checkTTL),
		decode.Attr(&f.BaseURL, "base_url", "The public URL of this server, as in \"https://tools.example.com\". It "+
			"is required for input.<name>.url, and tells callers where to upload. Without it, URLs in responses "+
			"begin with /files.").Check(f.checkBaseURL),
	}
}

func (f *Files) checkMaxSize(d *decode.Decoder, r Range) {
	switch {
	case f.MaxSize > maxUpload:
		d.Diags.Errorf(r, "Invalid size", "The maximum size of an uploaded file is %s.", decode.Size(maxUpload))
	case f.MaxSize < minUpload:
		d.Diags.Errorf(r, "Invalid size", "This is only %s. Add the unit, as in \"4MiB\".", f.MaxSize)
	}
}

func checkMediaType(d *decode.Decoder, r Range, pattern string) string {
	if !schema.IsMediaPattern(pattern) {
		d.Diags.Errorf(r, "Invalid media type",
			"types lists media types, as in [\"application/pdf\", \"image/*\"], and %q is not a media type.", pattern)
		return ""
	}
	return strings.ToLower(pattern)
}

func (f *Files) checkTypes(d *decode.Decoder, r Range) {
	if len(f.Types) == 0 {
		d.Diags.Errorf(r, "Invalid media type",
			"types lists media types, as in [\"application/pdf\", \"image/*\"]. Remove it to accept all types.")
	}
}

func (f *Files) checkTTL(d *decode.Decoder, r Range) {
	if f.TTL < minUploadTTL || f.TTL > maxUploadTTL {
		d.Diags.Errorf(r, "Invalid duration", "The duration must be from 1m to 720h.")
	}
}

func (f *Files) checkBaseURL(d *decode.Decoder, r Range) {
	if _, problem := hostname.ParseURL(f.BaseURL, 0); problem != "" {
		d.Diags.Errorf(r, "Invalid base URL", "base_url is the public URL of this server, as in "+
			"\"https://tools.example.com\", not %q: %s.", f.BaseURL, problem)
		f.BaseURL = ""
		return
	}
	f.BaseURL = strings.TrimRight(f.BaseURL, "/")
	f.uploadURL = f.BaseURL + "/files"
}

// decodeFiles decodes the files block.
func (l *loader) decodeFiles() {
	f := &l.config.Files
	spec := f.spec() // sets the defaults, which hold without a block, too
	l.onlyBlock("files", func(d *decode.Decoder, b sourceBlock) {
		d.Body(b.Block, spec)
		if f.MaxSize < minUpload {
			f.MaxSize = defaultMaxUpload // the mistake was reported
		}
		f.Range = headerRange(b.Block)
	})
	l.env.FileURLs = f.BaseURL != ""
}

// AcceptsUploads reports whether callers may upload files: there is a files block, or a tool takes
// a file.
func (c *Config) AcceptsUploads() bool {
	if c.Files.Range != (Range{}) {
		return true
	}
	return slices.ContainsFunc(c.Tools, func(t *Tool) bool { return t.Input.HoldsFile() })
}

// checkFileLimits reports an input whose files could never be uploaded, because of the limits of
// the files block.
func (in *inputs) checkFileLimits(d *decode.Decoder, m *schema.Member) {
	taken := &in.operation.loader.config.Files
	m.Type.EachFile(func(t *schema.Type) {
		if !schema.MediaOverlap(taken.Types, t.MediaTypes) {
			d.Errorf(m.Range, "File never accepted", "The input takes %s, but the files block accepts only %s, so no "+
				"file for this input can be uploaded. Add its types to types in the files "+
				"block.", strings.Join(t.MediaTypes, ", "), strings.Join(taken.Types, ", "))
		}
		if decode.Size(t.MaxSize) > taken.MaxSize {
			d.Warnf(m.Range, "File too large", "The input takes %s, but uploads are limited to "+
				"%s. Reduce max_size here, or raise it in the files block.", decode.Size(t.MaxSize), taken.MaxSize)
		}
	})
}
