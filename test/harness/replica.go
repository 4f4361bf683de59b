// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package harness

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
)

// Replica returns another controller that is not started, with the executable of the environment's
// controller and more arguments. It runs in a namespace with its own ServiceAccount, which has all
// permissions, so that the audit log has its own user, ReplicaUser. It has its own log.
func (e *Environment) Replica(ctx context.Context, namespace, name string, args ...string) (*Controller, error) {
	token, err := e.AdminToken(ctx, namespace, name)
	if err != nil {
		return nil, err
	}
	path := filepath.Join(e.dir, namespace+"-"+name)
	if err := e.WriteKubeconfig(path+".kubeconfig", token); err != nil {
		return nil, err
	}
	ours := e.Controller
	return &Controller{
		LogPath: path + ".log", path: ours.path, args: slices.Concat(ours.args, args), canaries: ours.canaries,
		env: slices.Concat(ours.env, []string{"KUBECONFIG=" + path + ".kubeconfig", "RUNTIME_NAMESPACE=" + namespace}),
	}, nil
}

// AdminToken creates a ServiceAccount with all permissions, and returns a token for it.
func (e *Environment) AdminToken(ctx context.Context, namespace, name string) (string, error) {
	// The token outlasts every test run.
	tokenSeconds := int64(24 * 60 * 60)
	sa := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}}
	if err := e.Client.Create(ctx, sa); err != nil {
		return "", err
	}
	binding := &rbacv1.ClusterRoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: namespace + "-" + name},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: "cluster-admin"},
		Subjects:   []rbacv1.Subject{{Kind: rbacv1.ServiceAccountKind, Namespace: namespace, Name: name}},
	}
	if err := e.Client.Create(ctx, binding); err != nil {
		return "", err
	}
	token := &authenticationv1.TokenRequest{Spec: authenticationv1.TokenRequestSpec{ExpirationSeconds: &tokenSeconds}}
	if err := e.Client.SubResource("token").Create(ctx, sa, token); err != nil {
		return "", fmt.Errorf("token of %s: %w", name, err)
	}
	return token.Status.Token, nil
}

// ReplicaUser is the user name of a replica.
func ReplicaUser(namespace, name string) string {
	return "system:serviceaccount:" + namespace + ":" + name
}

// WriteKubeconfig writes a kubeconfig for the environment's cluster with a bearer token. The
// changes are applied to the cluster entry.
func (e *Environment) WriteKubeconfig(path, token string, changes ...func(*clientcmdapi.Cluster)) error {
	config, err := clientcmd.LoadFromFile(e.Kubeconfig)
	if err != nil {
		return err
	}
	for name := range config.AuthInfos {
		config.AuthInfos[name] = &clientcmdapi.AuthInfo{Token: token}
	}
	for _, cluster := range config.Clusters {
		for _, change := range changes {
			change(cluster)
		}
	}
	content, err := clientcmd.Write(*config)
	if err != nil {
		return err
	}
	return os.WriteFile(path, content, 0o600)
}
