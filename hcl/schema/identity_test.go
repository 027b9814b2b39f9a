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
