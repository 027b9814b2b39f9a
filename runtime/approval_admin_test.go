package runtime

import (
	"errors"
	"fmt"
	"testing"

	"hatchel/runtime/edge/mcp"
	"hatchel/runtime/stage/approval"
)

func TestACallerWhoMayDecideNothingReadsNoList(t *testing.T) {
	h := newHost(t, `
		auth {
			api_key "ann" { sha256 = "`+fmt.Sprintf("%064x", 1)+`" }
		}
		approvals { allow = "'approvers' in caller.groups && tool.name == 't'" }
	`+tool("t", "approval {}\ntext = \"done\"")+tool("u", "approval {}\ntext = \"done\""))
	for _, c := range []struct {
		groups []string
		reads  bool
	}{{nil, false}, {[]string{"approvers"}, true}} {
		admin, err := h.Operator().ApprovalAdmin(t.Context(), &mcp.Caller{Subject: "eve", Identity: &mcp.Identity{Subject: "eve", Key: "eve", Groups: c.groups}})
		if err != nil {
			t.Fatal(err)
		}
		_, err = admin.List(t.Context(), approval.ListQuery{After: "where no list has ended", Limit: 10}, func([]*approval.Entry) error { return nil })
		if reads := errors.Is(err, approval.ErrCursor); reads != c.reads {
			t.Errorf("in %v: %v", c.groups, err)
		}
		admin.Close()
	}
}
