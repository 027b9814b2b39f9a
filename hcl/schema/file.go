package schema

import (
	"fmt"
	"mime"
	"slices"
	"strings"

	hclv2 "github.com/hashicorp/hcl/v2"

	"hatchel/hcl/value"
)

// fileID is the pattern of the ID of an uploaded file.
const fileID = "^file_[a-z2-7]{26}$"

const maxNameLength = 255

// fileForm is the object that a caller sends for a file. FileMembers are the members of a file that
// an author can read.
var (
	fileForm = func() *Type {
		id, _ := NewPattern(fileID)
		longest := maxNameLength
		optional := func(name, description string) *Member {
			t := &Type{Kind: String, MaxLength: &longest, Description: description}
			return &Member{Name: name, Type: t, Optional: true}
		}
		return ObjectOf(
			&Member{Name: "file_id", Type: &Type{Kind: String, Pattern: id,
				Description: "The file_id from the response to the upload."}},
			optional("filename", "The file name, if it differs from the uploaded one."),
			optional("content_type", "The media type, if it differs from the uploaded one."),
		)
	}()
	fileMembers = ObjectOf(
		&Member{Name: "file_id", Type: &Type{Kind: String}},
		&Member{Name: "filename", Type: &Type{Kind: String}},
		&Member{Name: "content_type", Type: &Type{Kind: String}},
		&Member{Name: "size", Type: &Type{Kind: Integer}},
		&Member{Name: "sha256", Type: &Type{Kind: String}},
		&Member{Name: "path", Type: &Type{Kind: String}},
		&Member{Name: "url", Type: &Type{Kind: String}},
	)
)

// FileMembers is the type of a file in expressions. Programs read all members except path and url,
// which are created for each call.
func FileMembers() *Type { return fileMembers }

// EachFile calls do for every file type that a value of the type can contain, including the type
// itself.
func (t *Type) EachFile(do func(*Type)) {
	if t == nil {
		return
	}
	if t.Kind == File {
		do(t)
	}
	t.Elem.EachFile(do)
	for _, m := range t.Members {
		m.Type.EachFile(do)
	}
}

// HoldsFile reports whether a value of the type can be or contain a file.
func (t *Type) HoldsFile() bool {
	return t != nil && (t.Kind == File || t.Elem.HoldsFile() || slices.ContainsFunc(t.Members,
		func(m *Member) bool { return m.Type.HoldsFile() }))
}

// holdsFile reports whether a value is present where its type expects a file.
func holdsFile(t *Type, v any) bool {
	switch {
	case t == nil || v == nil:
		return false
	case t.Kind == File:
		return true
	}
	switch v := v.(type) {
	case []any:
		return slices.ContainsFunc(v, func(e any) bool { return holdsFile(t.Elem, e) })
	case map[string]any:
		for name, e := range v {
			of := t.Elem
			if m, ok := t.Lookup(name); ok {
				of = m.Type
			}
			if holdsFile(of, e) {
				return true
			}
		}
	}
	return false
}

// descriptionWithUpload returns the advertised description. For a file it explains how to upload
// one.
func (t *Type) descriptionWithUpload() string {
	if t.Kind != File {
		return t.Description
	}
	description := strings.TrimSpace(t.Description)
	if description != "" {
		description = strings.TrimSuffix(description, ".") + ". "
	}
	to := "/files of this server"
	if t.Upload != nil && *t.Upload != "" {
		to = *t.Upload
	}
	description += fmt.Sprintf("A file. Upload it first: POST its bytes to %s with the credentials of this "+
		"connection, its Content-Type and Content-Disposition: attachment; filename=\"…\"; the answer has the "+
		"file_id to give here.", to)
	var limits []string
	if t.MaxSize > 0 {
		limits = append(limits, fmt.Sprintf("have %d bytes", t.MaxSize))
	}
	if t.MediaTypes != nil {
		limits = append(limits, "be "+strings.Join(t.MediaTypes, ", "))
	}
	if limits != nil {
		description += fmt.Sprintf(" It may %s.", strings.Join(limits, " and "))
	}
	return description
}

// fileCheck checks the object that a caller sends for a file. A value passed on by another tool is
// a file already.
func (c checkCompiler) fileCheck() check {
	form := c.objectCheck(fileForm).check
	return func(v any, p pass) (any, bool, []Violation) {
		if _, ok := v.(value.File); ok {
			return v, false, nil
		}
		return form(v, p)
	}
}

// Refuses returns the reason why a file does not fit the type, as the end of a sentence, or "" if
// it fits.
func (t *Type) Refuses(f value.FileInfo) string {
	switch {
	case t.MaxSize > 0 && f.Size > t.MaxSize:
		return fmt.Sprintf("must have at most %d bytes, got %d", t.MaxSize, f.Size)
	case !MediaAllowed(t.MediaTypes, f.Type, f.Sniffed):
		return fmt.Sprintf("must be %s, got %s whose content looks like %s", strings.Join(t.MediaTypes, " or "),
			quoteShort(f.Type), quoteShort(f.Sniffed))
	}
	return ""
}

func (p *parser) mediaTypes(t *Type, expr hclv2.Expression) {
	v, ok := p.constant(expr)
	if !ok {
		return
	}
	list, _ := v.([]any)
	for _, e := range list {
		pattern, _ := e.(string)
		if !IsMediaPattern(pattern) {
			p.fail(expr.Range(), "Invalid keyword value", "types lists media types, as in "+
				"[\"application/pdf\", \"image/*\"], and %s is not a media type.", describeValue(e))
			return
		}
		t.MediaTypes = append(t.MediaTypes, strings.ToLower(pattern))
	}
	if len(list) == 0 {
		p.fail(expr.Range(), "Invalid keyword value",
			"types lists media types, as in [\"application/pdf\", \"image/*\"]. Leave it out for files of every type.")
	}
}

// IsMediaPattern reports whether s is a media type, or a type with * as its subtype.
func IsMediaPattern(s string) bool {
	kind, params, err := mime.ParseMediaType(strings.ReplaceAll(s, "*", "any"))
	of, sub, ok := strings.Cut(s, "/")
	return err == nil && len(params) == 0 && strings.Contains(kind, "/") && ok && !strings.Contains(of, "*") &&
		(sub == "*" || !strings.Contains(sub, "*"))
}
