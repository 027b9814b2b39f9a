package call

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"

	"hatchel/adapters"
	"hatchel/runtime/stage/elicit"
)

// frozenBefore is a call that was frozen before there were versions.
const frozenBefore = `{"approval":"{\"stage\":\"complete\"}","at":0,"input":{"n":{"$float":"3"},"raw":{"$bytes":"AAE="}},` +
	`"key":"KEY","locals":{"x":1},"spent":1500,"steps":{"a":{"$$odd":"text","rows":[1,2]}},"trace":""}`

func TestACallThatWasFrozenBeforeThereWereVersionsIsRead(t *testing.T) {
	p := compile(t, uploadingTool)
	c := begin(t, p, "anna")
	if err := c.thaw([]byte(frozenBefore), unlimited); err != nil {
		t.Fatal(err)
	}
	steps := map[string]any{"a": map[string]any{"$odd": "text", "rows": []any{1, 2}}}
	if c.progress.nextStep != 0 || c.clock.offset.Milliseconds() != 1500 || c.reuse.resumedKey != "KEY" ||
		!reflect.DeepEqual(c.frame.Steps, steps) || c.approval.Stage != approvalComplete || c.frame.Input["n"] != 3.0 {
		t.Errorf("%+v %v %v", c.progress, c.frame.Steps, c.frame.Input)
	}
}

// TestAProgramFromBeforeReadsAFrozenCall reads a call as programs do that know no versions: they find these members,
// with these types, in one frozen value.
func TestAProgramFromBeforeReadsAFrozenCall(t *testing.T) {
	p := compile(t, uploadingTool)
	c := begin(t, p, "anna")
	c.frame.Steps["a"] = map[string]any{"$odd": "<text>", "n": 3.0}
	c.approval = &approvalState{frozenApproval: frozenApproval{Stage: approvalComplete}}
	c.action.Changes.Restore([]adapters.Part{{Name: `the step "a"`, Done: 1}})
	frozen, err := c.freeze(map[string]any{"i": 1})
	if err != nil {
		t.Fatal(err)
	}
	v, err := elicit.Thaw(frozen, unlimited)
	m, _ := v.(map[string]any)
	_, hasNext := m["at"].(int)
	_, hasSpent := m["spent"].(int)
	_, hasLocals := m["locals"].(map[string]any)
	approval, _ := m["approval"].(string)
	if err != nil || !hasNext || !hasSpent || !hasLocals || !json.Valid([]byte(approval)) ||
		!reflect.DeepEqual(m["steps"], c.frame.Steps) || !reflect.DeepEqual(m["input"], map[string]any{"i": 1}) {
		t.Errorf("%s: %v", frozen, err)
	}
	again := begin(t, p, "anna")
	if err := again.thaw(frozen, unlimited); err != nil || !reflect.DeepEqual(again.frame.Steps, c.frame.Steps) ||
		!reflect.DeepEqual(again.action.Changes.Parts(), c.action.Changes.Parts()) {
		t.Errorf("%v: %v %v", err, again.frame.Steps, again.action.Changes.Parts())
	}
}

func TestAFrozenCallOfALaterVersionIsRefusedInWords(t *testing.T) {
	err := begin(t, compile(t, uploadingTool), "anna").thaw([]byte(`{"v":5,"at":0,"spent":0,"steps":{}}`), unlimited)
	if err == nil || !strings.Contains(err.Error(), "only a newer version of this server reads (version 5, and this one") {
		t.Error(err)
	}
}

// TestFailuresOfAFrozenCallAreOfAVersionThatAProgramFromBeforeRefuses freezes a call without failures and with one.
func TestFailuresOfAFrozenCallAreOfAVersionThatAProgramFromBeforeRefuses(t *testing.T) {
	p := compile(t, uploadingTool)
	for version, failures := range map[int]adapters.Failures{
		1: {Of: 2}, 2: {Failed: 1, Of: 2, Step: "a", Key: "ben", Error: "no"},
	} {
		c := begin(t, p, "anna")
		c.action.Failures = failures
		frozen, err := c.freeze(nil)
		var written struct{ V int }
		if err != nil || json.Unmarshal(frozen, &written) != nil || written.V != version {
			t.Errorf("%+v is frozen as %s: %v", failures, frozen, err)
		}
		again := begin(t, p, "anna")
		if err := again.thaw(frozen, unlimited); err != nil || again.action.Failures != failures {
			t.Errorf("%v: %+v", err, again.action.Failures)
		}
	}
}

// TestFailuresOfACallThatWasFrozenBeforeAreCounted finds them in the outputs of the steps.
func TestFailuresOfACallThatWasFrozenBeforeAreCounted(t *testing.T) {
	p := compile(t, `
tool "t" {
  description = "Goes on."
  step "map" {
    each     = { ann = 1, ben = 2, cid = 3 }
    on_error = "continue"
    when     = "each.value != 3"
    tool "x" {}
  }
  step "list" {
    each     = [1, 2]
    on_error = "continue"
    tool "x" {}
  }
  step "one" {
    on_error = "continue"
    tool "x" {}
  }
  text = "done"
}
tool "x" {
  description = "Fails."
  step "s" {
    fail { message = "no" }
  }
  text = "done"
}
`)
	for _, s := range p.tool.Steps {
		p.AddStep(s, nil, nil, nil)
	}
	c := begin(t, p, "anna")
	err := c.thaw([]byte(`{"v":1,"at":3,"spent":0,"steps":{`+
		`"map":{"ann":{"text":"","key":"ann"},"ben":{"error":{"message":"no"},"key":"ben"},"cid":null},`+
		`"list":[{"text":"","key":0},{"error":{"message":"never"},"key":1}],"one":{"error":{"message":"nothing"}}}}`), unlimited)
	want := adapters.Failures{Failed: 3, Of: 5, Step: "map", Key: "ben", Error: "no"}
	if err != nil || c.action.Failures != want {
		t.Errorf("%v: %+v", err, c.action.Failures)
	}
}

// unlimited reserves memory where there is no limit.
func unlimited(int64) error { return nil }
