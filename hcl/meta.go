package hcl

import (
	"encoding/json"
	"slices"
	"strings"

	"github.com/hashicorp/hcl/v2/hclsyntax"

	"hatchel/hcl/decode"
	"hatchel/hcl/diag"
	"hatchel/hcl/value"
	"hatchel/internal/lazyregexp"
)

// MaxMeta is the maximum size in bytes of the metadata that an author declares, as encoded JSON.
const MaxMeta = 8 << 10

// metaField declares the argument meta, which is decoded into an object as encoded JSON.
func metaField(dst *[]byte, of string) decode.Field {
	return decode.Custom("meta", "object", "Metadata of "+of+" for clients, the member _meta of its entry in lists: a "+
		"constant object. Each name has a prefix that belongs to you, as in \"example.com/team\", or is one of "+
		"anthropic/ and openai/. At most 8 KiB.", func(d *decode.Decoder, e hclsyntax.Expression) {
		members, ok := d.Known(e, decode.Field{Name: "meta"}, "object").(map[string]any)
		if !ok {
			return
		}
		before := len(d.Diags)
		for _, name := range value.Keys(members) {
			checkMetaName(d, metaNameRange(e, name), name)
		}
		encoded, err := value.AppendJSON(nil, members)
		switch {
		case len(d.Diags) > before || len(members) == 0:
		case err != nil:
			d.Errorf(e.Range(), "Not JSON", "Metadata is sent as JSON: %s.", err)
		case len(encoded) > MaxMeta:
			d.Errorf(e.Range(), "Too much metadata", "Every client receives it with each list: %d bytes, at most %s.",
				len(encoded), decode.Size(MaxMeta))
		default:
			*dst = encoded
		}
	})
}

// metaNameRange returns where a name is written in an object; the range of the expression if it is not.
func metaNameRange(e hclsyntax.Expression, name string) Range {
	if object, ok := e.(*hclsyntax.ObjectConsExpr); ok {
		for _, item := range object.Items {
			if v, diags := item.KeyExpr.Value(nil); !diags.HasErrors() && v.AsString() == name {
				return diag.RangeOf(item.KeyExpr.Range())
			}
		}
	}
	return diag.RangeOf(e.Range())
}

// resultMetaField declares the argument result_meta.
func (t *toolDecoder) resultMetaField() decode.Field {
	return decode.Attr(&t.tool.ResultMeta, "result_meta", "Metadata of the result, the member _meta: an object whose "+
		"names are written here, with prefixes as in meta. Some clients show it to models. At most 8 KiB.").
		KeepMembers().Check(t.checkResultMeta)
}

// checkResultMeta reports metadata whose names are not known or not allowed.
func (t *toolDecoder) checkResultMeta(d *decode.Decoder, at Range) {
	m := t.tool.ResultMeta
	if len(m.Members) == 0 {
		d.Diags.Errorf(at, "Object needed", "result_meta is an object that is written here, as in "+
			"{ \"example.com/source\" = output.source }, so that its names are known.")
		return
	}
	for _, member := range m.Members {
		if member.Name == "" {
			d.Diags.Errorf(member.Key, "Known name needed",
				"The names in result_meta must be known at load. They cannot depend on a call.")
			continue
		}
		checkMetaName(d, member.Key, member.Name)
	}
}

var (
	metaPrefix = lazyregexp.New(`^[A-Za-z](?:[A-Za-z0-9-]*[A-Za-z0-9])?(?:\.[A-Za-z](?:[A-Za-z0-9-]*[A-Za-z0-9])?)*$`)
	metaName   = lazyregexp.New(`^[A-Za-z0-9](?:[A-Za-z0-9._-]*[A-Za-z0-9])?$`)
	vendorName = lazyregexp.New(`^[A-Za-z0-9](?:[A-Za-z0-9._/-]*[A-Za-z0-9])?$`) // OpenAI has names with slashes
)

// vendorPrefixes are prefixes without a dot that clients have given a meaning.
var vendorPrefixes = map[string]bool{"anthropic": true, "openai": true}

// protocolLabels are second labels, in any case, of the prefixes that belong to the Model Context Protocol.
var protocolLabels = []string{"mcp", "modelcontextprotocol"}

// checkMetaName reports a name of metadata that is reserved, or that nobody owns.
func checkMetaName(d *decode.Decoder, at Range, full string) {
	prefix, name, prefixed := strings.Cut(full, "/")
	labels := strings.Split(prefix, ".")
	switch {
	case prefix == "ui":
		d.Diags.Errorf(at, "Reserved name", "%q belongs to MCP Apps.", full)
	case prefix == "hatchel":
		d.Diags.Errorf(at, "Reserved name", "The prefix hatchel/ belongs to this program. Use one of yours, as in "+
			"\"example.com/%s\".", name)
	case vendorPrefixes[prefix] && vendorName.MatchString(name):
	case !prefixed || len(labels) == 1 || !metaPrefix.MatchString(prefix) || !metaName.MatchString(name):
		d.Diags.Errorf(at, "Invalid metadata name", "%q needs a prefix that belongs to you, a name of the DNS and a "+
			"slash, as in \"example.com/team\"; without a dot there are only anthropic/ and openai/.", full)
	case len(labels) > 1 && slices.Contains(protocolLabels, strings.ToLower(labels[1])):
		d.Diags.Errorf(at, "Reserved name", "The prefix %s/ is reserved for the Model Context Protocol.", prefix)
	}
}

// searchHintMeta is the metadata of a tool with words by which it is to be found.
const searchHintMeta = "anthropic/searchHint"

// SearchHint returns the words of the metadata of the tool by which a search is to find it; empty for none.
func (t *Tool) SearchHint() string {
	var meta map[string]json.RawMessage
	var hint string
	if json.Unmarshal(t.Meta, &meta) != nil || json.Unmarshal(meta[searchHintMeta], &hint) != nil {
		return ""
	}
	return hint
}
