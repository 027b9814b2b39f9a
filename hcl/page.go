package hcl

import (
	"slices"
	"time"

	hclv2 "github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"

	"hatchel/hcl/decode"
	"hatchel/hcl/diag"
	"hatchel/hcl/eval"
	"hatchel/hcl/schema"
)

// Page is the page block: a tool answers with a part of its rows, and with a cursor for the next part.
type Page struct {
	Size          int               // rows of a page
	Total         int               // rows of all pages
	Keys          *schema.Type      // the object of the members that identify a row; nil without, see Frame.Page
	KeysValidator *schema.Validator // of Keys
	TTL           time.Duration     // of a cursor
}

// CursorInput is the input that a page adds.
const CursorInput = "cursor"

const (
	maxPageRows   = 1000
	maxPageTotal  = 1_000_000
	maxPageKeys   = 8
	minCursorTTL  = time.Minute
	maxCursorTTL  = 24 * time.Hour
	maxCursorSize = 2 << 10
)

func (p *Page) spec() decode.Spec {
	p.Total, p.TTL = maxPageRows, 10*time.Minute
	return decode.Spec{
		decode.Attr(&p.Size, "size", "The number of rows of a page, from 1 to 1000.").Require().
			Check(func(d *decode.Decoder, r Range) { checkRange(d, r, "size", p.Size, maxPageRows) }),
		decode.Attr(&p.Total, "total", "The number of rows of all pages together, up to 1000000.").
			DefaultDoc("1000").
			Check(func(d *decode.Decoder, r Range) { checkRange(d, r, "total", p.Total, maxPageTotal) }),
		decode.Custom("keys", "object of types", "The members that identify a row and decide its place, with their "+
			"types, as in { opened = string, id = integer }. The backend reads those of the last row as page.after, "+
			"which is null on the first page. Without keys, each page reads from the beginning and leaves out what "+
			"was delivered.", p.decodeKeys),
		decode.Attr(&p.TTL, "ttl", "How long a cursor may be used, from 1m to 24h.").DefaultDoc("10m").
			Check(func(d *decode.Decoder, r Range) {
				if p.TTL < minCursorTTL || p.TTL > maxCursorTTL {
					d.Diags.Errorf(r, "Invalid duration", "A cursor may be used for 1m to 24h, not %s.", p.TTL)
				}
			}),
	}
}

func checkRange(d *decode.Decoder, r Range, name string, n, most int) {
	if n < 1 || n > most {
		d.Diags.Errorf(r, "Number out of range", "%s is a number from 1 to %d, not %d.", name, most, n)
	}
}

// decodeKeys reads the keys as the members of an object type.
func (p *Page) decodeKeys(d *decode.Decoder, e hclsyntax.Expression) {
	before := len(d.Diags)
	t := d.DecodeType(&hclsyntax.FunctionCallExpr{Name: "object", Args: []hclsyntax.Expression{e},
		NameRange: e.Range(), OpenParenRange: e.Range(), CloseParenRange: e.Range()})
	if len(d.Diags) > before {
		return
	}
	if n := len(t.Members); n == 0 || n > maxPageKeys {
		d.Errorf(e.Range(), "Invalid page keys", "A page has 1 to %d keys, not %d.", maxPageKeys, n)
		return
	}
	for _, m := range t.Members {
		scalar := slices.Contains([]schema.Kind{schema.String, schema.Integer, schema.Number, schema.Bool}, m.Type.Kind)
		if !scalar || m.Optional || m.Type.Nullable || m.Type.Sensitive {
			d.Errorf(m.Range, "Invalid page keys", "A key is a string, a number or a bool that every row has, so its "+
				"type cannot be %s.", eval.TypePhrase(m.Type))
			return
		}
	}
	p.Keys, p.KeysValidator = t, t.Compile()
}

// root returns the root page: page.limit, and with keys page.after.
func (p *Page) root() *eval.Root {
	read := func(name string) func(*eval.Frame) (any, error) {
		return func(f *eval.Frame) (any, error) {
			if f.NoCall {
				return nil, eval.ErrNoCall
			}
			return f.Page[name], nil
		}
	}
	r := &eval.Root{Noun: "member of page", Type: eval.AnyType, Members: map[string]*eval.Member{
		"limit": {Local: true, Type: eval.IntegerType, Eval: read("limit")},
	}}
	if p.Keys != nil {
		after := &eval.Member{Local: true, Type: p.Keys.AsNullable(), Eval: read("after")}
		after.NullReason = "page.after is null on the first page"
		r.Members["after"] = after
	}
	return r
}

// addCursorInput adds the input that holds the cursor.
func (t *toolDecoder) addCursorInput() {
	if t.tool.Page == nil {
		return
	}
	most := maxCursorSize
	t.addInput(CursorInput, "page", &schema.Type{
		Kind: schema.String, MaxLength: &most, Sensitive: true,
		Description: "The next_cursor of the answer before, for the rows after it.",
	}, nil)
}

// checkPage reports a page that cannot work. The tool is decoded.
func (t *toolDecoder) checkPage(page *eval.Root) {
	p := t.tool.Page
	if p == nil || t.dec.Diags.HasErrors() {
		return
	}
	at := t.blockRange("page")
	refuse := func(detail string) { t.dec.Diags.Errorf(at, "Page not possible", "%s", detail) }
	switch {
	case len(t.tool.Steps) != 1 || t.tool.HasNamedSteps():
		refuse("Pages need a tool with one backend and no steps.")
		return
	case !t.tool.ReadOnly:
		refuse("Each page is a call of its own, so the tool must not change anything. Write read_only = true if it " +
			"does not.")
		return
	case t.tool.Idempotency != nil || t.tool.Task != nil || len(t.tool.Approvals) > 0:
		refuse("Each page is a call of its own, so idempotency, task and approval do not go with page.")
		return
	case t.has("text", "content"):
		refuse("Pages are of the structured result. Remove text and content, or write format.")
		return
	case t.tool.Cache != nil && t.tool.Cache.Public:
		t.dec.Diags.Errorf(t.blockRange("cache"), "Contradictory cache scope", "A cursor belongs to one caller. Write "+
			"scope = \"private\".")
		return
	case p.Keys != nil && !page.Members["after"].Used:
		t.dec.Diags.Errorf(at, "Page never advances", "`page.after` is never read: without it every page is the first.")
		return
	}
	t.checkPageKeys(at)
}

// checkPageKeys reports keys that the rows do not have, or that a mask hides.
func (t *toolDecoder) checkPageKeys(at Range) {
	p := t.tool.Page
	var row *schema.Type
	if known := t.tool.ResultType(); known != nil && known.Kind != schema.Any && known.OneOf == nil {
		if known.Kind != schema.List {
			t.dec.Diags.Errorf(at, "Page not possible", "Pages are of a list, and the result of this tool is %s. "+
				"Write result = \"…\" with the list.", eval.TypePhrase(known))
			return
		}
		row, _ = rowType(known)
	}
	if p.Keys == nil {
		return
	}
	facts, _ := t.resultFacts()
	for _, m := range p.Keys.Members {
		var found *schema.Member
		if row != nil {
			if found, _ = row.Lookup(m.Name); found == nil {
				t.dec.Errorf(m.Range, "Unknown member", "The rows of the result have no member %q.%s", m.Name,
					diag.SuggestOr(m.Name, row.MemberNames(), diag.ListHas(row.MemberNames())))
				return
			}
		}
		if facts.MaskedAt([]string{m.Name}) != "" {
			t.dec.Diags.Errorf(keyRange(m, at), "Masked value decides", "Page key is masked: %s. A masked value must "+
				"not decide the order.", m.Name)
			return
		}
		if found != nil && (found.Optional || found.Type.Nullable) {
			t.dec.Diags.Errorf(keyRange(m, at), "Null in a key", "%q may be null in a row, and a comparison with null "+
				"finds no row, so rows would be lost. Convert it where it is read, compared and sorted, as in "+
				"COALESCE(%[1]s, …), and declare it without nullable and optional, or name another key.", m.Name)
			return
		}
	}
}

func keyRange(m *schema.Member, otherwise Range) Range {
	if m.Range == (hclv2.Range{}) {
		return otherwise
	}
	return diag.RangeOf(m.Range)
}
