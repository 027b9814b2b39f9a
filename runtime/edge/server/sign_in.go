package server

import (
	"net/http"

	"hatchel/runtime/durable/grant"
	"hatchel/runtime/edge/console"
	"hatchel/runtime/edge/mcp"
	"hatchel/runtime/edge/signin"
)

// newSignIn returns the authorization server, which is served while the configuration has a sign_in block.
func (s *Server) newSignIn() *signin.Server {
	return signin.New(signin.Options{
		Pin: s.Host.Pin, Grants: s.Host.Operator().State.Grants, Log: s.Log.Logger, Remote: s.clientAddress,
		IsLocal: isLocalConnection,
		Style:   console.StyleSheet(), Toolset: s.Toolset, Refused: s.audit,
		FinishConsole: func(w http.ResponseWriter, r *http.Request, g *grant.Grant, i *mcp.Identity, next string) {
			s.console.FinishSignIn(w, r, g, i, next)
		},
	})
}
