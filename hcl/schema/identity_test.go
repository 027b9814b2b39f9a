package schema

import "testing"

// Digests of processes of earlier versions have these bytes, also of what clients load in another form today.
func TestTheIdentityOfATypeDoesNotChangeWithClients(t *testing.T) {
	text := &Type{Kind: String}
	for want, typ := range map[string]*Type{
		`{"type":["string","null"]}`: text.AsNullable(),
		`{"type":"array"}`:           ListOf(&Type{Kind: Any}),
		`{"type":"string","oneOf":[{"const":"a","title":"The a"}]}`:    {Kind: String, Enum: []EnumValue{{Value: "a", Title: "The a"}}},
		`{"type":["string","null"],"enum":["a",null]}`:                 {Kind: String, Nullable: true, Enum: []EnumValue{{Value: "a"}}},
		`{"type":["array","null"],"items":{"type":["string","null"]}}`: ListOf(text.AsNullable()).AsNullable(),
	} {
		if got := string(typ.AppendIdentity(nil)); got != want {
			t.Errorf("got %s, want %s", got, want)
		}
		if got := string(typ.AppendReviewSchema(nil)); got != want {
			t.Errorf("reviewed as %s, want %s", got, want)
		}
		if got := string(typ.AppendSchema(nil)); got == want {
			t.Errorf("clients get %s", got)
		}
	}
}

// Vertex AI refuses an anyOf with a text or a default beside it, and clients leave out a tool whose input is repeated in
// a header and has no single type.
func TestAlternativesAreWrittenAsClientsLoadThem(t *testing.T) {
	text := (&Type{Kind: String, Title: "T", Description: "D", Examples: []any{"a"}}).AsNullable()
	header := *text
	header.Header = "Region"
	union := OneOf(&Type{Kind: Integer, Description: "A number."}, &Type{Kind: String})
	union.Description, union.Examples = "D.", []any{1, "a"}
	for want, m := range map[string]*Member{
		`{"anyOf":[{"type":"string","title":"T","description":"D","examples":["a"]},{"type":"null"}]}`:                      {Type: text, HasDefault: true},
		`{"anyOf":[{"type":"string","title":"T","description":"D","default":"x","examples":["a"]},{"type":"null"}]}`:        {Type: text, HasDefault: true, Default: "x"},
		`{"anyOf":[{"type":"integer","description":"D.\nA number.","examples":[1,"a"]},{"type":"string","default":"x"}]}`:   {Type: union, HasDefault: true, Default: "x"},
		`{"anyOf":[{"type":"integer","description":"D.\nA number.","examples":[1,"a"]},{"type":"string"},{"type":"null"}]}`: {Type: union.AsNullable(), HasDefault: true},
		`{"type":"string","title":"T","description":"D","examples":["a"],"x-mcp-header":"Region"}`:                          {Type: &header, HasDefault: true},
	} {
		m.Name, m.Optional = "a", true
		want = `{"type":"object","properties":{"a":` + want + `},"additionalProperties":false}`
		if got := string(ObjectOf(m).AppendSchema(nil)); got != want {
			t.Errorf("got %s, want %s", got, want)
		}
	}
}
