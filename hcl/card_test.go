package hcl_test

import (
	"fmt"
	"strings"
	"testing"

	"hatchel/adapters/all"
	. "hatchel/hcl"
)

func TestACardHasANameInReverseDNSFormAndTheURLOfTheEndpoint(t *testing.T) {
	const name, url = "com.example/tools", "https://tools.example.com/mcp"
	for _, c := range []struct{ name, url, want string }{
		{name, url, url},
		{"com.example.finance/Tools_1.x", "HTTPS://tools.example.com:8443/team/mcp", "https://tools.example.com:8443/team/mcp"},
		{name, "http://localhost:8080/mcp", "http://localhost:8080/mcp"},
		{"tools", url, ""}, {"example/tools", url, ""}, {"com.example/a/b", url, ""}, {"com.example/", url, ""}, {"/tools", url, ""},
		{"com.exämple/tools", url, ""}, {"com..example/tools", url, ""}, {"com.example/" + strings.Repeat("x", 200), url, ""},
		{name, "tools.example.com/mcp", ""}, {name, "http://tools.example.com/mcp", ""}, {name, "https://tools.example.com", ""},
		{name, "https://tools.example.com/mcp/", ""}, {name, "https://tools.example.com/mcp/finance", ""},
		{name, "https://tools.example.com/mcp?x=1", ""}, {name, "https://ann:secret@tools.example.com/mcp", ""},
		{name, "https://{tenant}.example.com/mcp", ""}, {name, "https://tools.example.com/{x}/mcp", ""}, {name, "https:///mcp", ""},
	} {
		config, diags := Load(files("a.hcl", fmt.Sprintf("server {\n card {\n name = %q\n url = %q\n description = \"x\"\n }\n}\n", c.name, c.url)),
			all.Set().Kinds(), Options{})
		switch {
		case c.want == "" && !diags.HasErrors():
			t.Errorf("%s, %s: %v", c.name, c.url, diags)
		case c.want != "" && (len(diags) > 0 || config.Server.Card.URL != c.want || config.Server.Card.Name != c.name):
			t.Errorf("%s, %s: %v", c.name, c.url, diags)
		}
	}
}
