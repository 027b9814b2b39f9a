package mcp

// Question is a request to the client: what a call must know before it can go on.
type Question struct {
	Key    string // unique among the questions of a call
	Method string // elicitation/create, sampling/createMessage or roots/list
	Params []byte // an object as encoded JSON
}

// Questions are asked of a modern client in the place of a result. It answers by calling again, with its answers and the state.
type Questions struct {
	Ask   []Question
	State string // opaque to the client; empty for none
}
