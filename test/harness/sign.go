// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package harness

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"strings"

	ocispec "github.com/opencontainers/image-spec/specs-go/v1"
)

const (
	signatureMediaType  = "application/vnd.dev.cosign.simplesigning.v1+json"
	signatureAnnotation = "dev.cosignproject.cosign/signature"
	signatureType       = "cosign container image signature"
)

// Signer signs artifacts in a registry with its own key.
type Signer struct {
	// PublicKey is in PEM, for the Secret that a source verifies with.
	PublicKey []byte

	key *ecdsa.PrivateKey
}

// NewSigner creates a key.
func NewSigner() (*Signer, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, err
	}
	public, err := x509.MarshalPKIXPublicKey(&key.PublicKey)
	if err != nil {
		return nil, err
	}
	return &Signer{key: key, PublicKey: pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: public})}, nil
}

// Sign stores a signature of an artifact as `cosign sign --key` does, without a transparency log.
func (s *Signer) Sign(ctx context.Context, r *Registry, repository, tag string) error {
	signed, err := r.Digest(ctx, repository, tag)
	if err != nil {
		return err
	}
	payload, err := json.Marshal(map[string]any{
		"critical": map[string]any{
			"identity": map[string]string{"docker-reference": r.Address + "/" + repository},
			"image":    map[string]string{"docker-manifest-digest": signed},
			"type":     signatureType,
		},
		"optional": nil,
	})
	if err != nil {
		return err
	}
	hash := sha256.Sum256(payload)
	signature, err := ecdsa.SignASN1(rand.Reader, s.key, hash[:])
	if err != nil {
		return fmt.Errorf("sign %s:%s: %w", repository, tag, err)
	}
	layer := blob{mediaType: signatureMediaType, content: payload, annotations: map[string]string{
		signatureAnnotation: base64.StdEncoding.EncodeToString(signature),
	}}
	config := blob{mediaType: ocispec.MediaTypeImageConfig, content: []byte("{}")}
	return r.put(ctx, repository, strings.ReplaceAll(signed, ":", "-")+".sig", config, layer)
}
