// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/base64"
	"encoding/pem"
	"fmt"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"time"
)

// kubeconfigMark is the first line of generated kubeconfigs. Others must not be changed.
const kubeconfigMark = "# Written by Pintle's test cluster; `cluster down` removes it.\n"

// authority is the CA of one cluster.
type authority struct {
	cert *x509.Certificate
	key  crypto.Signer
	pem  []byte
}

type keyPair struct{ cert, key []byte }

// subject is the subject of a certificate; with hosts it is a server certificate.
type subject struct {
	name   string
	groups []string
	hosts  []string
	ips    []net.IP
}

// writePKI fills dir with everything the components' flags name. No certificate
// outlives the cluster by intent, and none is worth protecting beyond its mode.
func writePKI(dir, server string) error {
	ca, err := newAuthority("pintle-test-cluster")
	if err != nil {
		return err
	}
	// Aggregated APIs are trusted through a CA of their own: with the first CA any
	// client certificate could pose as the front proxy, and so as any user.
	frontProxy, err := newAuthority("pintle-test-cluster-front-proxy")
	if err != nil {
		return err
	}
	files := map[string][]byte{"ca.crt": ca.pem, "front-proxy-ca.crt": frontProxy.pem}
	if files["ca.key"], err = encodeKey(ca.key); err != nil {
		return err
	}
	if err := addServiceAccountKey(files); err != nil {
		return err
	}
	if err := addCertificates(files, ca, frontProxy, server); err != nil {
		return err
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	for name, data := range files {
		if err := os.WriteFile(filepath.Join(dir, name), data, 0o600); err != nil {
			return err
		}
	}
	return nil
}

func addServiceAccountKey(files map[string][]byte) error {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return err
	}
	if files["service-account.key"], err = encodeKey(key); err != nil {
		return err
	}
	public, err := x509.MarshalPKIXPublicKey(&key.PublicKey)
	files["service-account.pub"] = pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: public})
	return err
}

func addCertificates(files map[string][]byte, ca, frontProxy *authority, server string) error {
	serving := subject{
		name: "serving",
		hosts: []string{
			"localhost", "kubernetes", "kubernetes.default", "kubernetes.default.svc",
			"kubernetes.default.svc.cluster.local",
		},
		// The second is the first address of the service range, which the
		// Service "kubernetes" gets.
		ips: []net.IP{net.IPv4(127, 0, 0, 1), net.IPv4(10, 96, 0, 1)},
	}
	for file, from := range map[string]struct {
		issuer *authority
		to     subject
	}{
		"serving":     {ca, serving},
		"front-proxy": {frontProxy, subject{name: "front-proxy-client"}},
		"to-kubelet":  {ca, subject{name: "apiserver-kubelet-client", groups: []string{"system:masters"}}},
	} {
		pair, err := from.issuer.issue(from.to)
		if err != nil {
			return err
		}
		files[file+".crt"], files[file+".key"] = pair.cert, pair.key
	}
	for file, user := range map[string]subject{
		"admin":           {name: "admin", groups: []string{"system:masters"}},
		controllerManager: {name: "system:kube-controller-manager"},
		scheduler:         {name: "system:kube-scheduler"},
		kubelet:           {name: "system:node:" + realNode, groups: []string{"system:nodes"}},
	} {
		pair, err := ca.issue(user)
		if err != nil {
			return err
		}
		files[file+".kubeconfig"] = kubeconfig(server, ca.pem, user.name, pair)
		if file == "admin" {
			files["admin.crt"], files["admin.key"] = pair.cert, pair.key
		}
	}
	return nil
}

func kubeconfig(server string, caPEM []byte, user string, pair keyPair) []byte {
	encode := base64.StdEncoding.EncodeToString
	return fmt.Appendf(nil, kubeconfigMark+`apiVersion: v1
kind: Config
current-context: pintle-test
contexts:
- name: pintle-test
  context:
    cluster: pintle-test
    user: %[3]q
clusters:
- name: pintle-test
  cluster:
    server: %[1]q
    certificate-authority-data: %[2]s
users:
- name: %[3]q
  user:
    client-certificate-data: %[4]s
    client-key-data: %[5]s
`, server, encode(caPEM), user, encode(pair.cert), encode(pair.key))
}

// newAuthority creates a CA as kubeadm does. The API server verifies the client's certificate for
// each request, which takes half as long with RSA.
func newAuthority(name string) (*authority, error) {
	const bits = 2048
	key, err := rsa.GenerateKey(rand.Reader, bits)
	if err != nil {
		return nil, err
	}
	template, err := certificate(subject{name: name})
	if err != nil {
		return nil, err
	}
	template.IsCA, template.BasicConstraintsValid = true, true
	template.KeyUsage |= x509.KeyUsageCertSign
	template.ExtKeyUsage = nil
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		return nil, err
	}
	cert, err := x509.ParseCertificate(der)
	return &authority{cert: cert, key: key, pem: encodeCertificate(der)}, err
}

func (a *authority) issue(to subject) (keyPair, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return keyPair{}, err
	}
	template, err := certificate(to)
	if err != nil {
		return keyPair{}, err
	}
	der, err := x509.CreateCertificate(rand.Reader, template, a.cert, &key.PublicKey, a.key)
	if err != nil {
		return keyPair{}, err
	}
	encoded, err := encodeKey(key)
	return keyPair{cert: encodeCertificate(der), key: encoded}, err
}

func certificate(of subject) (*x509.Certificate, error) {
	serial, err := rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 120))
	if err != nil {
		return nil, err
	}
	now := time.Now()
	return &x509.Certificate{
		SerialNumber: serial,
		Subject:      pkix.Name{CommonName: of.name, Organization: of.groups},
		// An hour back, for tests that run beside a clock that jumps.
		NotBefore:   now.Add(-time.Hour),
		NotAfter:    now.AddDate(1, 0, 0),
		KeyUsage:    x509.KeyUsageDigitalSignature,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
		DNSNames:    of.hosts,
		IPAddresses: of.ips,
	}, nil
}

func encodeCertificate(der []byte) []byte {
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})
}

func encodeKey(key crypto.Signer) ([]byte, error) {
	der, err := x509.MarshalPKCS8PrivateKey(key)
	return pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der}), err
}
