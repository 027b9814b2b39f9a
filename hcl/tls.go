package hcl

import (
	"hatchel/hcl/decode"
	"hatchel/hcl/diag"
)

// TLS is the tls block: how the server proves who it is, and whose certificates it takes from clients. Paths are relative to the folder.
type TLS struct {
	Cert     string
	Key      string
	ClientCA string // empty when clients show no certificates
	Range    diag.Range
}

func (t *TLS) spec() decode.Spec {
	return decode.Spec{
		decode.Attr(&t.Cert, "cert", "The file of the server's certificate, and of those between it and its authority, as PEM. It is read again when it changes.").Require(),
		decode.Attr(&t.Key, "key", "The file of its key, as PEM.").Require(),
		decode.Attr(&t.ClientCA, "client_ca", "A file of authorities, as PEM. Who shows a certificate that one of them has signed is the caller whom it names."),
	}
}
