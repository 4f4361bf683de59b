// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package site

import (
	"crypto/aes"
	"crypto/cipher"
	"encoding/base64"
	"encoding/hex"
	"errors"
)

// keySize is the size of a key in bytes. The script makes keys of this size.
const keySize = 32

// errKey is the error for a login whose browser has run no script.
var errKey = errors.New("the browser has sent no key")

// seal returns a token encrypted with the key of a browser, which is in hexadecimal.
func seal(token, key string) (string, error) {
	aead, err := cipherOf(key)
	if err != nil {
		return "", err
	}
	return base64.RawURLEncoding.EncodeToString(aead.Seal(nil, nil, []byte(token), nil)), nil
}

// unseal returns the token that was sealed with a key; empty if it was another key.
func unseal(sealed, key string) string {
	aead, err := cipherOf(key)
	if err != nil {
		return ""
	}
	text, err := base64.RawURLEncoding.DecodeString(sealed)
	if err != nil {
		return ""
	}
	token, err := aead.Open(nil, nil, text, nil)
	if err != nil {
		return ""
	}
	return string(token)
}

func cipherOf(key string) (cipher.AEAD, error) {
	bytes, err := hex.DecodeString(key)
	if err != nil || len(bytes) != keySize {
		return nil, errKey
	}
	block, err := aes.NewCipher(bytes)
	if err != nil {
		return nil, err
	}
	return cipher.NewGCMWithRandomNonce(block)
}
