package console

import (
	"strings"
	"testing"

	"hatchel/adapters"
	"hatchel/runtime"
	"hatchel/runtime/observe/metrics"
	"hatchel/runtime/observe/probe"
	"hatchel/runtime/stage/approval"
)

func TestTheStatePageShowsBothDefinitionsAndNoButton(t *testing.T) {
	drift := []adapters.Drift{
		{Name: "create_issue", Changed: []string{"description"}, Pinned: "name: \"create_issue\"\ndescription: \"Opens.\"\n",
			Found: "name: \"create_issue\"\ndescription: \"Opens.\u200b<script>x</script>\U000E0041\"\n"},
		{Name: "get_issue", Changed: []string{adapters.DriftMissing}, Pinned: "name: \"get_issue\"\n"},
		{Name: "list", Changed: []string{"title"}, Served: true, Pinned: "a\n", Found: "b\n"},
	}
	for range maxDefinitions {
		drift = append(drift, adapters.Drift{Name: "z", Changed: []string{"title"}, Pinned: "PINNED\n", Found: "FOUND\n"})
	}
	data := &stateData{ServerState: &runtime.ServerState{Sample: &metrics.Sample{}}, Upstreams: []upstreamView{
		newUpstreamView(probe.UpstreamHealth{Connection: "mcp.github", State: adapters.UpstreamDrifted, Protocol: "2025-11-25",
			Sessions: 2, Restarts: 3, Unused: 4, Drift: probe.DescribeDrift(drift)}),
		newUpstreamView(probe.UpstreamHealth{Connection: "mcp.files", State: adapters.UpstreamFailed, Error: "it has stopped"}),
	}}
	var written strings.Builder
	if err := pages()["server-state"].ExecuteTemplate(&written, "content", &frame{Data: data}); err != nil {
		t.Fatal(err)
	}
	page := approval.EscapeText(written.String())
	for _, want := range []string{
		"mcp.github", "drifted", "2025-11-25", "mcp.files", "failed", "it has stopped", "create_issue has changed: description",
		"get_issue is missing", "hatchel import mcp github --update --dry-run", "withdrawn", "served",
		`-description: &#34;Opens.&#34;`, `&#43;description: &#34;Opens.`, "&lt;script&gt;", "The server does not list it.",
		"The command shows both definitions.",
	} {
		if !strings.Contains(page, want) {
			t.Errorf("the page does not have %q:\n%s", want, page)
		}
	}
	for _, hidden := range []string{"\u200b", "\U000E0041", "<script>x", "<button", "<form"} {
		if strings.Contains(page, hidden) {
			t.Errorf("the page has %q", hidden)
		}
	}
	if n := strings.Count(page, "PINNED"); n != 2*(maxDefinitions-3) {
		t.Errorf("%d definitions are shown whole", n)
	}
}
