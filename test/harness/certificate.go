// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package harness

import (
	"crypto/x509"
	"encoding/pem"
	"net/http/httptest"
	"os"
	"path/filepath"

	corev1 "k8s.io/api/core/v1"
)

// CertificateName is a name in the certificate of Certificate, beside addresses of loopback.
const CertificateName = "example.com"

// Certificate writes a certificate and its key into a folder, as a Secret has them. The certificate
// is its own certificate authority.
func Certificate(dir string) error {
	server := httptest.NewTLSServer(nil)
	defer server.Close()
	pair := server.TLS.Certificates[0]
	key, err := x509.MarshalPKCS8PrivateKey(pair.PrivateKey)
	if err != nil {
		return err
	}
	for name, block := range map[string]*pem.Block{
		corev1.TLSCertKey:       {Type: "CERTIFICATE", Bytes: pair.Certificate[0]},
		corev1.TLSPrivateKeyKey: {Type: "PRIVATE KEY", Bytes: key},
	} {
		if err := os.WriteFile(filepath.Join(dir, name), pem.EncodeToMemory(block), 0o600); err != nil {
			return err
		}
	}
	return nil
}
