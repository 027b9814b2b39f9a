package runtime

import "testing"

func TestAChangeOfATestReloadsNothing(t *testing.T) {
	const tool = "tool \"t\" {\n description = \"A tool.\"\n text = \"x\"\n}\n"
	h := newHost(t, tool)
	served := h.Current()
	for _, src := range []string{
		tool + "test \"a\" {\n tool = \"t\"\n}\n",
		"test \"a\" {\n tool = \"t\"\n expect { text = \"x\" }\n}\n# The tool.\n" + tool,
		tool,
	} {
		load(t, h, src)
		if h.Current() != served || h.Current().Config.ID != served.Config.ID || !h.Status().Last.OK {
			t.Errorf("reloaded for\n%s", src)
		}
	}
	load(t, h, tool+"tool \"u\" {\n description = \"A tool.\"\n text = \"x\"\n}\n")
	if h.Current() == served {
		t.Error("a new tool is not served")
	}
}
